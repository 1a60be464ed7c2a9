#include "program/run/trained_state.hpp"

#include <chrono>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/run/trained_parts.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/named_state.hpp"

namespace troupe {
namespace {

constexpr std::chrono::microseconds look_pause{200};

/// A stage's layers, and its memory as this process sees it.
struct opened_stage {
  std::unique_ptr<trained_part> part;
  parameter_layout layout;
  memory_mapping memory;

  /// Makes the memory as large as it has to be.
  [[nodiscard]] static expected<opened_stage> open(const checked_run& run, stage_index stage,
                                                   const trained_pipeline& from, const blob& memory) {
    const cut_node& place = *run.part_at(stage);
    const cut_pipeline& pipeline = run.parts().pipelines.at(place.pipeline);
    auto part = TROUPE_TRY(
        make_trained_part(pipeline, from.graph, from.boundaries[place.part], from.boundaries[place.part + 1]));
    parameter_layout layout = TROUPE_TRY(layout_of(*part, pipeline.options.training->optimizer));
    auto descriptor = TROUPE_TRY(memory.copy());
    auto file = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), 1));
    TROUPE_TRY(file.grow(layout.bytes()));
    auto mapped = TROUPE_TRY(file.map(0, layout.bytes()));
    return opened_stage{std::move(part), std::move(layout), std::move(mapped)};
  }
};

/// Another process, or thread, makes it true.
template <class Condition>
expected<void> wait_until(const Condition& is_true, std::chrono::nanoseconds patience, const std::string& stage,
                          const char* what_it_has_not_done) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > until) {
      return fail(error_code::stage_unresponsive, stage, what_it_has_not_done, "look for the stage that is stuck");
    }
    std::this_thread::sleep_for(look_pause);
  }
  return {};
}

void append(state_dict& all, const state_dict& views) {
  for (const named_tensor& each : views) all.push_back({each.name, each.tensor.clone()});
}

/// All entries of the model's table, in its order. Names of one weight share its tensor.
state_dict by_table(const graph_weights& table, const state_dict& of_stages) {
  std::unordered_map<std::string_view, at::Tensor> known;
  for (const named_tensor& each : of_stages) known.emplace(each.name, each.tensor);
  state_dict all;
  for (const graph_weight& each : table) {
    at::Tensor& value = known[table.find(each.tensor)->name];
    if (!value.defined()) value = each.tensor.detach().clone();  // no operator reads it
    all.push_back({each.name, value});
  }
  return all;
}

}  // namespace

expected<training_snapshot> read_training(const checked_run& run, const started_run& stages,
                                          std::optional<call_number> through) {
  training_snapshot all;
  for (stage_index stage = 0; stage + 1 < run.plan.nodes.size(); ++stage) {
    auto opened = TROUPE_TRY(
        opened_stage::open(run, stage, stages.trained.at(run.part_at(stage)->pipeline), stages.states.at({stage, 0})));
    const std::string& name = run.plan.nodes[stage].name;
    TROUPE_TRY(wait_until([&] { return trained_parameters::holds_state(opened.memory.bytes()); },
                          run.options.workers.start_deadline, name, "it has not made its weights"));
    const auto values = TROUPE_TRY(trained_parameters::adopt(opened.layout, opened.memory.bytes()));
    const auto has_decided = [&] {
      return !through || (values->decided_call() && *values->decided_call() >= *through);
    };
    TROUPE_TRY(wait_until(has_decided, limits::control_request_timeout, name,
                          "it has not carried out the decision of the last step"));
    append(all.weights, weights_of(*opened.part, *values));
    append(all.moments, moments_of(*opened.part, *values));
    all.step = values->step();
  }
  const trained_pipeline& model = stages.trained.begin()->second;
  if (model.graph) all.weights = by_table(model.graph->model().weights, all.weights);
  return all;
}

expected<void> write_training(const training_snapshot& from, const checked_run& run, stage_index stage,
                              const trained_pipeline& pipeline, const blob& memory) {
  auto opened = TROUPE_TRY(opened_stage::open(run, stage, pipeline, memory));
  const auto made = TROUPE_TRY(trained_parameters::create(opened.layout, opened.part->parameters(),
                                                          opened.part->buffers(), opened.memory.bytes()));
  return restore(*made, *opened.part, from.weights, from.moments, from.step);
}

}  // namespace troupe
