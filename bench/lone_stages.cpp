#include <chrono>

#include <troupe/runtime/data/data_set_source.hpp>
#include <troupe/runtime/metric/metric_scorer.hpp>
#include <troupe/runtime/model/stage_module.hpp>
#include <troupe/runtime/tensor/tensor_set.hpp>

#include "loops.hpp"

namespace troupe::bench {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::uint64_t inputs_max = 16;

expected<std::unique_ptr<model_stage>> make_body(const workload& work, const std::vector<std::size_t>& boundaries,
                                                 std::size_t stage) {
  return model_stage::make(
      work.code, boundaries[stage], boundaries[stage + 1],
      {.stage = static_cast<stage_index>(stage), .threads = 1, .optimize = optimize_mode::none, .warm_up_input = {}});
}

expected<std::vector<activation>> first_inputs(const workload& work) {
  data_set_source source(work.data, work.micro_batch,
                         std::min(inputs_max, work.micro_batches_max()) * work.micro_batch);
  std::vector<activation> inputs;
  for (std::uint64_t index = 0;; ++index) {
    auto loaded = source.next();
    if (!loaded) return tl::make_unexpected(loaded.error());
    if (!*loaded) return inputs;
    inputs.push_back({{0, index}, (*loaded)->samples, 0, (*loaded)->tensors, (*loaded)->passengers});
  }
}

expected<std::vector<activation>> outputs_of(model_stage& body, const std::vector<activation>& inputs) {
  std::vector<activation> outputs;
  for (const activation& input : inputs) {
    auto tensors = body.forward(input);
    if (!tensors) return tl::make_unexpected(tensors.error());
    activation& next = outputs.emplace_back(input);
    next.tensors = std::move(*tensors);
  }
  return outputs;
}

expected<void> pass(model_stage& body, scorer* scoring, const std::vector<activation>& inputs, std::uint64_t count) {
  for (std::uint64_t index = 0; index < count; ++index) {
    const activation& input = inputs[index % inputs.size()];
    auto output = body.forward(input);
    if (!output) return tl::make_unexpected(output.error());
    if (scoring == nullptr) continue;
    score counted;
    counted.id = input.id;
    if (auto done = scoring->evaluate(*output, input, counted); !done) return done;
  }
  return {};
}

}  // namespace

expected<lone_stages> lone_stages::prepare(const workload& work, std::vector<std::size_t> boundaries) {
  lone_stages made;
  made.boundaries_ = std::move(boundaries);
  auto inputs = first_inputs(work);
  for (std::size_t stage = 0; stage < made.count(); ++stage) {
    if (!inputs) return tl::make_unexpected(inputs.error());
    auto body = make_body(work, made.boundaries_, stage);
    if (!body) return tl::make_unexpected(body.error());
    auto outputs = outputs_of(**body, *inputs);
    made.inputs_.push_back(std::move(*inputs));
    inputs = std::move(outputs);
  }
  return made;
}

expected<measurement> lone_stages::run(const workload& work, std::size_t stage, std::uint64_t micro_batches) const {
  return in_new_thread([&]() -> expected<measurement> {
    auto body = make_body(work, boundaries_, stage);
    if (!body) return tl::make_unexpected(body.error());
    (*body)->on_start();
    metric_scorer scoring(work.metrics);
    scorer* const on_last = stage + 1 == count() ? &scoring : nullptr;
    if (auto done = pass(**body, on_last, inputs_[stage], warm_up_of(micro_batches)); !done) {
      return tl::make_unexpected(done.error());
    }
    const auto start = steady::now();
    auto done = pass(**body, on_last, inputs_[stage], micro_batches);
    const std::chrono::duration<double, std::micro> taken = steady::now() - start;
    if (!done) return tl::make_unexpected(done.error());
    return measurement{taken.count() / static_cast<double>(micro_batches), {}, {}};
  });
}

}  // namespace troupe::bench
