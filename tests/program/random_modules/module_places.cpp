#include "tests/program/random_modules/module_places.hpp"

#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <ATen/ATen.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <unistd.h>

#include "tests/program/random_modules/random_module.hpp"
#include "tests/program/support/plain_loop.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using engine_ptr = std::unique_ptr<pipeline_engine>;

/// What a worker needs to make the engine of its driver.
constexpr const char* model_variable = "TROUPE_TEST_MODULE";
constexpr const char* sample_variable = "TROUPE_TEST_SAMPLE";
constexpr const char* place_variable = "TROUPE_TEST_PLACE";

expected<engine_ptr> make_engine(const module_place& place, const std::string& model, const at::Tensor& sample,
                                 std::uint64_t micro_batches) {
  pipeline_engine_options options{.stages = place.stages,
                                  .num_micro_batches = micro_batches,
                                  .run = {.threads = 1, .log = {.level = log_level::error}},
                                  .optimize = place.optimize,
                                  .partition = "uniform"};
  options.run.workers.enabled = place.in_workers;
  options.call_timeout = std::chrono::seconds{60};
  options.metrics = {"cross_entropy"};
  if (place.has_sample) options.sample = sample;
  return pipeline_engine::create(model, options);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string written(const module_place& place) {
  std::ostringstream text;
  text << static_cast<int>(place.optimize) << ' ' << place.stages << ' ' << place.has_sample;
  return text.str();
}
module_place read_place(const std::string& text) {
  module_place place{.in_workers = true};
  int mode = 0;
  std::istringstream(text) >> mode >> place.stages >> place.has_sample;
  place.optimize = static_cast<optimize_mode>(mode);
  return place;
}

/// For the workers of this process, gone at its end.
class sample_file {
 public:
  sample_file() : path_(std::filesystem::temp_directory_path() / ("test-modules-" + std::to_string(::getpid()))) {}
  sample_file(const sample_file&) = delete;
  sample_file& operator=(const sample_file&) = delete;
  ~sample_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] std::string write(const std::vector<char>& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_.string();
  }

 private:
  std::filesystem::path path_;
};

/// Workers find model, sample and place in the environment.
void tell_workers(const module_case& what, const module_place& place) {
  static const sample_file file;
  const std::string sample = file.write(torch::jit::pickle_save(what.batches.front()));
  ::setenv(model_variable, what.model.c_str(), 1);
  ::setenv(sample_variable, sample.c_str(), 1);
  ::setenv(place_variable, written(place).c_str(), 1);
}

expected<engine_ptr> start_engine(const module_case& what, const module_place& place) {
  if (place.in_workers) tell_workers(what, place);
  return make_engine(place, what.model.string(), what.batches.front(), what.batches.size());
}

expected<std::vector<at::Tensor>> outputs_of(pipeline_engine& engine, const std::vector<at::Tensor>& inputs) {
  std::vector<batch> batches;
  for (const at::Tensor& each : inputs) batches.push_back({each, {}});
  return engine.eval_batch(batch_list{batches}, {.compute_loss = false, .reduce_output = reduction::none})
      .map([](const eval_output& output) { return output.outputs; });
}

bool same_bits(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (std::size_t index = 0; index < std::min(a.size(), b.size()); ++index) {
    if (!at::equal(a[index], b[index])) return false;
  }
  return a.size() == b.size();
}

double largest(const at::Tensor& values) {
  return std::max(values.to(at::kDouble).abs().max().item<double>(), 1e-6);
}

std::optional<std::string> difference(const module_case& what, const std::vector<at::Tensor>& found) {
  if (found.size() != what.wanted.size()) return "outputs of " + std::to_string(found.size()) + " micro-batches";
  const at::Tensor whole = at::cat(what.wanted);  // the draw was judged by all samples
  for (std::size_t index = 0; index < found.size(); ++index) {
    const double apart =
        largest_difference(found[index], what.wanted[index]) * largest(what.wanted[index]) / largest(whole);
    if (apart <= what.tolerance) continue;
    std::ostringstream text;
    text << "micro-batch " << index << " is " << apart << " off, and the tolerance is " << what.tolerance;
    return text.str();
  }
  return std::nullopt;
}

/// Samples in memory, with label k for each sample k.
class samples_in_memory final : public data_set {
 public:
  samples_in_memory(at::Tensor inputs, std::int64_t classes)
      : inputs_(std::move(inputs)),
        labels_(at::arange(inputs_.size(0), at::kLong).remainder(classes)),
        classes_(static_cast<std::uint32_t>(classes)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return static_cast<std::uint64_t>(inputs_.size(0)); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return inputs_.sizes().slice(1).vec(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return classes_; }
  [[nodiscard]] std::string name() const override { return "samples in memory"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto begin = static_cast<std::int64_t>(range.begin);
    const auto count = static_cast<std::int64_t>(range.end - range.begin);
    return sample_block{inputs_.narrow(0, begin, count), labels_.narrow(0, begin, count)};
  }

 private:
  at::Tensor inputs_;
  at::Tensor labels_;
  std::uint32_t classes_;
};

/// The cross-entropy of an evaluation; each logit may be off by the tolerance, and the loss by twice that.
std::optional<std::string> wrong_metric(pipeline_engine& engine, const module_case& what) {
  const at::Tensor wanted = at::cat(what.wanted).to(at::kDouble);
  const auto data = std::make_shared<samples_in_memory>(at::cat(what.batches), wanted.size(1));
  const auto micro_batch = static_cast<std::uint64_t>(what.batches.front().size(0));
  const auto result = engine.evaluate(data, micro_batch, {"cross_entropy"});
  if (!result) return to_string(result.error());
  const at::Tensor labels = at::arange(wanted.size(0), at::kLong).remainder(wanted.size(1));
  const double right = at::cross_entropy_loss(wanted, labels).item<double>();
  const double found = (*result)["cross_entropy"].value();
  // The loss itself is rounded, also where all logits are near 0.
  const double rounding = 8 * std::numeric_limits<double>::epsilon() * std::abs(right);
  if (std::abs(found - right) <= 2 * what.tolerance * wanted.abs().max().item<double>() + rounding) return std::nullopt;
  return "the cross-entropy is " + std::to_string(found) + ", and " + std::to_string(right) + " is right";
}

}  // namespace

std::string to_string(const module_place& place) {
  static const std::map<optimize_mode, std::string> names = {{optimize_mode::graph, "graph"},
                                                             {optimize_mode::none, "none"}};
  return names.at(place.optimize) + ", " + std::to_string(place.stages) + " stages" +
         (place.in_workers ? ", in workers" : "") + (place.has_sample ? "" : ", without a sample");
}

std::vector<module_finding> findings_of(const module_case& what, const std::vector<module_place>& places) {
  std::vector<module_finding> found;
  std::map<optimize_mode, std::vector<at::Tensor>> first;
  if (what.is_from_here) first[optimize_mode::none] = what.wanted;
  for (const module_place& place : places) {
    const auto say = [&](const std::string& text) { found.push_back({place, text}); };
    std::vector<at::Tensor> before;
    for (const at::Tensor& each : what.batches) before.push_back(each.clone());
    const auto engine = start_engine(what, place);
    const auto outputs = engine ? outputs_of(**engine, what.batches) : tl::make_unexpected(engine.error());
    if (!outputs) {
      say(to_string(outputs.error()));
      continue;
    }
    if (const auto text = difference(what, *outputs)) say(*text);
    if (!same_bits(before, what.batches)) say("the micro-batch was written");
    if (place.is_measured) {
      if (const auto text = wrong_metric(**engine, what)) say(*text);
    }
    if (!place.has_sample) continue;  // without one nothing is compared, so what differs by more than rounding runs
    const auto& [_, bits] = *first.try_emplace(place.optimize, *outputs).first;
    if (!same_bits(*outputs, bits)) say("other bits than of the first such run");
  }
  return found;
}

std::vector<module_place> places_of_turn(std::uint64_t turn) {
  const std::uint32_t one_of_three = static_cast<std::uint32_t>(turn % 3) + 1;
  std::vector<module_place> places = {{.optimize = optimize_mode::none, .stages = one_of_three}};
  for (const std::uint32_t stages : {1u, 2u, 3u})
    places.push_back({.optimize = optimize_mode::graph, .stages = stages});
  places[1].is_measured = true;
  places.push_back({.optimize = optimize_mode::graph, .stages = one_of_three, .has_sample = false});
  return places;
}

std::vector<module_place> worker_places() {
  return {{.optimize = optimize_mode::graph, .stages = 2, .in_workers = true},
          {.optimize = optimize_mode::none, .stages = 2, .in_workers = true}};
}

void serve_module_if_asked() {
  if (program::worker() == nullptr && !program::is_probe()) return;
  std::ifstream file(environment(sample_variable), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const at::Tensor sample = torch::jit::pickle_load(bytes).toTensor();
  static_cast<void>(make_engine(read_place(environment(place_variable)), environment(model_variable), sample, 1));
  std::_Exit(1);
}

}  // namespace troupe::testing
