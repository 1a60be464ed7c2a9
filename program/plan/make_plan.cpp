#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/models/cut_model.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/own_thread.hpp"
#include "program/plan/plan_report.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/wiring/edge_depths.hpp"
#include <troupe/data_set.hpp>
#include <troupe/model.hpp>
#include <troupe/topology.hpp>

namespace troupe {
namespace {

/// What only real data can tell.
struct measured {
  payload_ptr inputs;
  std::string data;
  std::uint64_t samples = 0;
  std::uint64_t input_bytes = 0;  ///< of one micro-batch
  std::uint64_t label_bytes = 0;  ///< its labels, which travel with it
  /// What crosses the front of each layer, and the end of the model, for one sample.
  std::vector<passing_values> crossing;
  std::vector<double> seconds;
};

expected<measured> measure(const eval_options& options) {
  const auto data = TROUPE_TRY(open_data(options.data));
  measured found{{}, data->name(), std::min(options.run.limit.value_or(data->size()), data->size()), 0, 0, {}, {}};
  const auto block = TROUPE_TRY(data->read({0, std::min(options.run.micro_batch, found.samples)}));
  const auto dtype = dtype_of(options);
  found.inputs = each_tensor(to_payload(block.inputs), [&](const at::Tensor& one) {
    return dtype && one.is_floating_point() ? one.to(*dtype) : one;
  });
  found.input_bytes = bytes_of(to_named(found.inputs));
  found.label_bytes = bytes_of(block.labels);
  return found;
}

expected<cut_places> places_for(const eval_options& options, layered_model& model, std::uint32_t threads,
                                const std::optional<measured>& found) {
  const auto method = parse_partition_method(options.partition);
  if (method && needs_profile(*method) && !found) {
    return fail(error_code::missing_flag, "--data", "the partition method profile times the layers on real data",
                "add --data KIND:PATH, or choose another --partition");
  }
  const cut_request request{.stages = options.stages,
                            .threads = threads,
                            .optimize = options.optimize,
                            .partition = options.partition,
                            .allow_random = options.allow_random,
                            .times_layers = true};
  return in_own_thread("plan", "the model could not be cut",
                       [&] { return find_places(model, request, found ? found->inputs : nullptr); });
}

std::uint64_t between_bytes(const cut_places& places, const std::optional<measured>& found) {
  return found && places.activation_bytes > 0 ? places.activation_bytes + found->label_bytes : 0;
}

/// Of one micro-batch, at the front of a layer or the end of the model.
std::uint64_t crossing_bytes(const measured& found, std::size_t place, std::uint64_t micro_batch) {
  return place == 0 ? found.input_bytes : bytes_of(found.crossing.at(place)) * std::min(micro_batch, found.samples);
}

/// Slots in front of the stage are full, and the hungriest layer is at work.
std::uint64_t activation_bytes(const measured& found, std::size_t begin, std::size_t end, std::uint32_t slots,
                               std::uint64_t micro_batch) {
  std::uint64_t largest = 0;
  for (std::size_t l = begin; l < end; ++l)
    largest = std::max(largest, crossing_bytes(found, l, micro_batch) + crossing_bytes(found, l + 1, micro_batch));
  return slots * (crossing_bytes(found, begin, micro_batch) + found.label_bytes) + largest;
}

planned_stage plan_stage(const std::vector<graph_layer>& layers, const std::optional<measured>& found,
                         std::size_t begin, std::size_t end, std::uint32_t slots, std::uint64_t micro_batch) {
  planned_stage stage;
  for (std::size_t l = begin; l < end; ++l) {
    const graph_layer& each = layers.at(l);
    stage.layers.push_back(fmt::format("{} {}", l, each.type));
    stage.parameters += each.parameters;
    stage.weight_bytes += each.parameter_bytes + each.buffer_bytes;
  }
  if (!found) return stage;
  const auto first = found->seconds.begin() + static_cast<std::ptrdiff_t>(begin);
  stage.input_bytes = crossing_bytes(*found, begin, micro_batch) + found->label_bytes;
  stage.seconds = std::accumulate(first, first + static_cast<std::ptrdiff_t>(end - begin), 0.0);
  stage.activation_bytes = activation_bytes(*found, begin, end, slots, micro_batch);
  return stage;
}

std::optional<double> balance_of(const std::vector<planned_stage>& stages) {
  double sum = 0;
  double largest = 0;
  for (const planned_stage& each : stages) {
    const double load = each.seconds.value_or(static_cast<double>(each.parameters));
    sum += load;
    largest = std::max(largest, load);
  }
  if (largest <= 0) return std::nullopt;
  return sum / static_cast<double>(stages.size()) / largest;
}

void plan_call(plan_report& plan, std::uint64_t samples) {
  plan.micro_batches = (samples + plan.micro_batch - 1) / plan.micro_batch;
  const double depth = static_cast<double>(plan.stages.size()) - 1;
  const std::uint64_t of_one_replica = (*plan.micro_batches + plan.replicas - 1) / plan.replicas;
  const auto share = static_cast<double>(of_one_replica);
  plan.bubble = depth / (share + depth);
  std::uint64_t bytes = 0;
  for (const planned_stage& each : plan.stages)
    bytes += each.weight_bytes + plan.replicas * each.activation_bytes.value_or(0);
  plan.memory_bytes = bytes;
}

}  // namespace

expected<plan_report> make_plan(const eval_options& options, std::uint32_t cores) {
  const cut_options how{.optimize = options.optimize,
                        .dtype = dtype_of(options),
                        .allow_effects = options.allow_effects,
                        .allow_random = options.allow_random};
  const auto model = TROUPE_TRY(model_source(options.model).open(how, "stage"));
  plan_report plan;
  plan.threads = resolve_threads(options, cores);
  std::optional<measured> found;
  if (!options.data.empty()) {
    found = TROUPE_TRY(measure(options));
  }
  const auto places = TROUPE_TRY(places_for(options, *model, plan.threads, found));
  if (found) {
    found->seconds = places.seconds;
    found->crossing = places.crossing;
    plan.plain_layers = places.choice.plain;
    plan.notes = places.choice.notes;
  }
  plan.warnings = places.choice.warnings;
  const part_boundaries& boundaries = places.boundaries;
  plan.model = options.model;
  plan.data = found ? found->data : "";
  plan.partition = options.partition;
  plan.cut_by = places.cut_by;
  plan.boundaries = boundaries;
  plan.replicas = options.replicas;
  plan.micro_batch = options.run.micro_batch;
  const std::uint32_t between = options.num_pipe_buffers.value_or(stage_slots_for(between_bytes(places, found)));
  const std::uint32_t from_loader = std::max(prefetch_slots_for(found ? found->input_bytes + found->label_bytes : 0),
                                             options.num_pipe_buffers.value_or(limits::pipe_buffers_default));
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s) {
    const std::uint32_t slots = s == 0 ? from_loader : between;
    plan.stages.push_back(
        plan_stage(model->layers(), found, boundaries.at(s), boundaries.at(s + 1), slots, plan.micro_batch));
  }
  plan.balance = balance_of(plan.stages);
  if (found) plan_call(plan, found->samples);
  return plan;
}

}  // namespace troupe
