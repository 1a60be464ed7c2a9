// A program whose workers tell lies: the linker puts forge() before the codec (--wrap), so that everything
// else is the production program. Its arguments are NAME=VALUE:
//   lie=none|FIELD         which field of which message (lies below); edge.*: of what stage "pass" sends to "guess"
//   once=FILE              made at the first lie; no lie after that
//   processes=all|none
//   call=evaluation|eval_batch
#include <bit>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "messages/codec/codec.hpp"
#include "runtime/edge/shm/shm_message.hpp"
#include "runtime/process/worker_environment.hpp"
#include <troupe/troupe.hpp>

namespace {

using settings = std::map<std::string, std::string>;

/// Looked at before the program takes the variable.
bool is_worker = false;

settings& given() {
  static settings found = {{"lie", "none"}, {"processes", "all"}, {"call", "evaluation"}};
  return found;
}

/// Sample n is the number n, of class n % 10.
class numbers final : public troupe::data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 400; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {1}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 10; }
  [[nodiscard]] std::string name() const override { return "numbers"; }
  [[nodiscard]] troupe::expected<troupe::sample_block> read(troupe::sample_range range) const override {
    const auto each = at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    return troupe::sample_block{each.to(at::kFloat).unsqueeze(1), each.remainder(10)};
  }
};

at::Tensor guess(const at::Tensor& numbers) {
  const at::Tensor wanted = (numbers * 1.03).floor().remainder(10);
  return at::log_softmax(-(wanted - at::arange(10)).square() / 7, 1);
}

// --- lies ------------------------------------------------------------------------------------------------------------

template <class Message>
using lies = std::map<std::string, std::function<void(Message&)>>;

/// Of a message that was about to be sent; the last score of several, as the others are true.
const lies<troupe::score_batch> about_scores = {
    {"score.sink", [](troupe::score_batch& said) { said.scores.back().sink = 77; }},
    {"score.id.call", [](troupe::score_batch& said) { said.scores.back().id.call = 99; }},
    {"score.id.index", [](troupe::score_batch& said) { said.scores.back().id.index = 1'000'000; }},
    {"score.samples", [](troupe::score_batch& said) { ++said.scores.back().samples; }},
    {"score.words", [](troupe::score_batch& said) { said.scores.back().words.push_back(1); }},
    {"score.words.none", [](troupe::score_batch& said) { said.scores.back().words.clear(); }},
    {"score.words.parts", [](troupe::score_batch& said) { said.scores.back().words.front() = 0; }},
    {"score.words.outputs", [](troupe::score_batch& said) { said.scores.back().words.at(3) = 0; }},
    {"score.sender_incarnation", [](troupe::score_batch& said) { ++said.scores.back().sender_incarnation; }},
};
const lies<troupe::stage_ready> about_readiness = {
    {"stage_ready.address", [](troupe::stage_ready& said) { said.address.stage = 77; }},
    {"stage_ready.incarnation", [](troupe::stage_ready& said) { said.incarnation = 77; }},
};
const lies<troupe::call_opened> about_calls = {
    {"call_opened.call", [](troupe::call_opened& said) { said.call = 99; }},
};
const lies<troupe::worker_hello> about_itself = {
    {"worker_hello.pid", [](troupe::worker_hello& said) { ++said.pid; }},
    {"worker_hello.edge_contact", [](troupe::worker_hello& said) { said.edge_contact = 77; }},
};

/// Of a micro-batch on its way from stage to stage. The second one that has the id of the one before takes the place of
/// its own, which is lost.
const lies<troupe::shm::message_header> about_work = {
    {"edge.id.index", [](troupe::shm::message_header& said) { said.index += 1'000'000; }},
    {"edge.id.call", [](troupe::shm::message_header& said) { said.call += 7; }},
    {"edge.samples", [](troupe::shm::message_header& said) { ++said.samples_end; }},
    {"edge.id.again", [](troupe::shm::message_header& said) { said.index -= 1; }},
};

template <class Message>
Message forge(const Message& truth, const lies<Message>& known) {
  Message said = truth;
  const auto found = known.find(given()["lie"]);
  const std::string once = given()["once"];
  if (found == known.end() || (!once.empty() && std::ifstream(once).good())) return said;
  found->second(said);
  if (!once.empty()) std::ofstream(once) << "told";
  return said;
}

using encoded = troupe::expected<troupe::codec::bytes>;

}  // namespace

// clang-format off
#define TROUPE_ENCODE(length_and_name) \
  "_ZN6troupe5codec6encodeINS_" length_and_name "EEEN2tl8expectedISt6vectorISt4byteSaIS6_EENS_5errorEEERKT_"
#define TROUPE_FORGE(type, length_and_name, known) \
  encoded tell_truth(const troupe::type& said) asm("__real_" TROUPE_ENCODE(length_and_name)); \
  encoded tell(const troupe::type& said) asm("__wrap_" TROUPE_ENCODE(length_and_name)); \
  encoded tell(const troupe::type& said) { return tell_truth(forge(said, known)); }
// clang-format on
TROUPE_FORGE(score_batch, "11score_batch", about_scores)
TROUPE_FORGE(stage_ready, "11stage_ready", about_readiness)
TROUPE_FORGE(call_opened, "11call_opened", about_calls)
TROUPE_FORGE(worker_hello, "12worker_hello", about_itself)

#define TROUPE_HEADER_OF "_ZN6troupe3shm9header_ofERKNS_10activationERKNS_13payload_codecE"
troupe::shm::message_header true_header(const troupe::activation& of,
                                        const troupe::payload_codec& codec) asm("__real_" TROUPE_HEADER_OF);
troupe::shm::message_header header(const troupe::activation& of,
                                   const troupe::payload_codec& codec) asm("__wrap_" TROUPE_HEADER_OF);
troupe::shm::message_header header(const troupe::activation& of, const troupe::payload_codec& codec) {
  const auto truth = true_header(of, codec);
  return is_worker && truth.index == 40 ? forge(truth, about_work) : truth;
}

namespace {

int failed(const troupe::error& cause) {
  std::cerr << to_string(cause) << '\n';
  return static_cast<int>(troupe::status_of(cause.code));
}

int evaluate(const troupe::run_options& options) {
  troupe::topology made;
  made.source("loader", std::make_shared<numbers>())
      .stage("pass", [](const at::Tensor& numbers) { return numbers; })
      .stage("guess", guess)
      .sink("metrics", {"accuracy", "nll"});
  const troupe::evaluation_hooks hooks{.on_progress = {}, .on_log = [](const troupe::log_record& record) {
                                         std::cerr << to_string(record) << std::endl;
                                       }};
  const auto result = troupe::run(made, options, hooks);
  if (!result) return failed(result.error());
  std::cout << troupe::result_json(*result).text << '\f';
  return 0;
}

/// One call of 100 micro-batches. Prints the bits of the losses, and of the sums of the logits.
int call_batches(const troupe::run_options& options) {
  const troupe::pipeline_module module{
      .layers = {troupe::layer_spec::function("pass", [](const at::Tensor& numbers) { return numbers; }),
                 troupe::layer_spec::function("guess", guess)},
      .num_stages = 2,
      .loss_fn = [](const at::Tensor& outputs, const at::Tensor& labels) {
        return std::vector<at::Tensor>{at::nll_loss(outputs, labels)};
      }};
  const auto engine = troupe::pipeline_engine::create(module, {.num_micro_batches = 100, .run = options});
  if (!engine) return failed(engine.error());
  const auto next = [begin = std::uint64_t{0}]() mutable -> std::optional<troupe::batch> {
    begin += 4;
    return *numbers().read({begin - 4, begin});
  };
  const auto output = (*engine)->eval_batch(next, {.return_logits = true, .reduce_output = troupe::reduction::none});
  if (!output) return failed(output.error());
  std::cout << "{\"bits\": [" << output->micro_batches;
  for (const auto& loss : output->losses) std::cout << ", " << std::bit_cast<std::uint64_t>(loss.at(0));
  for (const at::Tensor& each : output->logits) {
    std::cout << ", " << std::bit_cast<std::uint64_t>(each.sum(at::kDouble).item<double>());
  }
  std::cout << "]}\f";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    given()[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  const troupe::program program{argc, argv};
  is_worker = troupe::program::worker() != nullptr;
  troupe::run_options options{.micro_batch = 4, .threads = 1, .deadline = std::chrono::seconds{60}};
  if (given()["processes"] == "all") {
    options.workers = {.enabled = true, .transport = troupe::transport_kind::shm, .timeout = std::chrono::seconds{2}};
  }
  return given()["call"] == "eval_batch" ? call_batches(options) : evaluate(options);
}
