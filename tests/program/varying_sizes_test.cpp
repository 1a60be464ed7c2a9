// Goal: micro-batches whose sequences are padded to a length of their own are evaluated as they are, in one process and
// with workers over shared memory and over TCP, also after a worker was killed; the sizes of the first micro-batch bind
// no later one. Method: two stages of code sum up words and weigh them, and tell the length that they got; a plain loop
// over the sentences without padding. Workers are this program, started again.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "runtime/data/data_set_source.hpp"
#include "runtime/tensor/named_payload.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* transport_variable = "TROUPE_TEST_TRANSPORT";
constexpr const char* fault_variable = "TROUPE_TEST_FAULT";
constexpr std::int64_t sentences = 230;
constexpr std::uint64_t micro_batch = 8;
constexpr std::int64_t width = 200;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

/// Words of sentence i: short ones first, so that every size of the first micro-batch is outgrown; a long one now and
/// then, of which only its own micro-batch may know.
std::int64_t length_of(std::int64_t i) {
  return i % 50 == 49 ? 300 : 1 + i * 7 % (5 + i / 4);
}
std::int64_t word_of(std::int64_t i, std::int64_t at) {
  return (i * 31 + at * 17) % 97;
}

std::int64_t longest_of(sample_range range) {
  std::int64_t longest = 0;
  for (auto i = static_cast<std::int64_t>(range.begin); i < static_cast<std::int64_t>(range.end); ++i) {
    longest = std::max(longest, length_of(i));
  }
  return longest;
}

/// Sentences of [range), padded to the longest of them; the label is what the stages shall compute.
class ragged final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return sentences; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {1}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "ragged"; }
  [[nodiscard]] bool has_varying_sizes() const noexcept override { return true; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto rows = static_cast<std::int64_t>(range.size());
    const std::int64_t longest = longest_of(range);
    at::Tensor ids = at::full({rows, longest}, 1000, at::kLong);  // wrong wherever the mask is not used
    at::Tensor mask = at::zeros({rows, longest}, at::kBool);
    at::Tensor label = at::empty({rows}, at::kDouble);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t sentence = static_cast<std::int64_t>(range.begin) + row;
      double sum = 0;
      for (std::int64_t at = 0; at < length_of(sentence); ++at) {
        ids[row][at] = word_of(sentence, at);
        mask[row][at] = true;
        sum += static_cast<double>(word_of(sentence, at));
      }
      label[row] = sum / static_cast<double>(length_of(sentence)) + static_cast<double>(longest);
    }
    return sample_block{{{"ids", ids}, {"mask", mask}}, {{"wanted", label}}};
  }
};

/// [N, T] to [N, T, width], so that edges between processes have to grow, and the mask as it is.
named_tensors spread(const named_tensors& in) {
  return {{"words", in.at("ids").to(at::kDouble).unsqueeze(2).repeat({1, 1, width})}, {"mask", in.at("mask")}};
}

/// The mean of the words, and the length T that arrived.
named_tensors weigh(const named_tensors& in) {
  const at::Tensor mask = in.at("mask").to(at::kDouble).unsqueeze(2);
  const at::Tensor mean = (in.at("words") * mask).sum(1) / mask.sum(1);
  return mean.select(1, width - 1) + static_cast<double>(mask.size(1));
}

expected<run_result> run_once() {
  const std::string transport = environment(transport_variable);
  run_options options{.micro_batch = micro_batch, .threads = 1};
  options.workers.enabled = !transport.empty();
  if (transport == "tcp") options.workers.transport = transport_kind::tcp;
  if (const std::string fault = environment(fault_variable); !fault.empty()) options.faults.add(fault);
  return run(topology{}
                 .source("sentences", std::make_shared<ragged>())
                 .stage("spread", spread)
                 .stage("weigh", weigh)
                 .sink("error", {"mae", "mse"}),
             options);
}

struct place {
  const char* name;
  const char* transport;
  const char* fault;
};

class varying_sizes : public ::testing::TestWithParam<place> {};

TEST_P(varying_sizes, are_those_of_each_micro_batch) {
  ::setenv(transport_variable, GetParam().transport, 1);
  ::setenv(fault_variable, GetParam().fault, 1);
  const auto result = run_once();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(result->samples, static_cast<std::uint64_t>(sentences));
  EXPECT_LT((*result)["mae"].value("mean"), 1e-9) << "each row has the mean of its words, and the length of its own";
  EXPECT_LT((*result)["mse"].value("mean"), 1e-18);
  EXPECT_EQ(result->delivery.lost, 0U);
  if (std::string(GetParam().fault).empty()) return;
  ASSERT_EQ(result->faults.size(), 1U);
  EXPECT_EQ(result->faults[0].times, 1U) << "the worker was killed";
}

INSTANTIATE_TEST_SUITE_P(all, varying_sizes,
                         ::testing::Values(place{"one_process", "", ""}, place{"shared_memory", "shm", ""},
                                           place{"tcp", "tcp", ""},
                                           place{"shared_memory_and_a_kill", "shm", "kill:stage=weigh,at=mb9"},
                                           place{"tcp_and_a_kill", "tcp", "kill:stage=spread,at=mb9"}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(data_set_source, reads_one_micro_batch_at_a_time_where_sizes_vary) {
  data_set_source source(std::make_shared<ragged>(), micro_batch);
  std::uint64_t index = 0;
  for (auto next = get(source.next()); next; next = get(source.next())) {
    const at::Tensor ids = to_named(next->tensors).at("ids");
    EXPECT_EQ(ids.size(1), longest_of(next->samples));
    EXPECT_TRUE(at::equal(to_named(get(source.reread(index)).tensors).at("ids"), ids)) << "after a death";
    ++index;
  }
  EXPECT_EQ(index, (sentences + micro_batch - 1) / micro_batch);
  data_set_source later(std::make_shared<ragged>(), micro_batch, std::nullopt, 7);
  EXPECT_EQ(to_named(get(later.next())->tensors).at("ids").size(1), longest_of({56, 64})) << "a journal that goes on";
}

TEST(eval_batch, takes_batches_of_any_length) {
  const pipeline_module module{.layers = {layer_spec::function("Spread",
                                                               [](const at::Tensor& x) {
                                                                 return x.unsqueeze(2).repeat({1, 1, 3});
                                                               }),
                                          layer_spec::function("Sum",
                                                               [](const at::Tensor& x) {
                                                                 return x.sum({1, 2});
                                                               })},
                               .num_stages = 2,
                               .loss_fn = [](const at::Tensor& outputs, const at::Tensor& labels) {
                                 return std::vector<at::Tensor>{(outputs - labels).abs().sum()};
                               }};
  const auto engine = get(pipeline_engine::create(module, {.num_micro_batches = 6, .run = {.threads = 1}}));
  std::int64_t pulled = 0;
  const data_iterator lengths = [&]() -> std::optional<batch> {
    const std::int64_t length = pulled * pulled * 11 % 40 + 1;
    const std::int64_t rows = ++pulled % 3 + 1;
    return batch{at::ones({rows, length}), at::full({rows}, static_cast<float>(3 * length))};
  };
  const eval_output done = get(engine->eval_batch(lengths, {.return_logits = true, .reduce_output = reduction::none}));
  EXPECT_EQ(done.micro_batches, 6U);
  for (const auto& parts : done.losses) EXPECT_EQ(parts, std::vector<double>{0});
  const auto mean = engine->eval_batch(lengths, {.compute_loss = false});
  ASSERT_FALSE(mean);
  EXPECT_THAT(to_string(mean.error()), HasSubstr("outputs of unequal shape have no element-wise mean"));
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    static_cast<void>(troupe::testing::run_once());
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
