#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/models/cut_model.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/own_thread.hpp"
#include "program/plan/draw_graph.hpp"
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
};

expected<measured> measure(const eval_options& options) {
  const auto data = TROUPE_TRY(open_data(options.data));
  measured found{{}, data->name(), std::min(options.run.limit.value_or(data->size()), data->size()), 0, 0};
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
                            .times_layers = true,
                            .cut_cost_seconds_per_byte = cut_cost_of(options.run.workers)};
  return in_own_thread("plan", "the model could not be cut",
                       [&] { return find_places(model, request, found ? found->inputs : nullptr); });
}

std::uint64_t between_bytes(const cut_places& places, const std::optional<measured>& found) {
  return found && places.activation_bytes > 0 ? places.activation_bytes + found->label_bytes : 0;
}

/// With the bytes of a micro-batch of `rows` samples, where samples have been measured.
drawn_model draw_for(const layered_model& model, const std::vector<passing_values>& crossing, std::uint64_t rows) {
  drawn_model drawn = draw(model.plain(), crossing, std::max<std::uint64_t>(rows, 1) - 1);
  for (drawn_layer& layer : drawn.layers) {
    for (crossing_value& each : layer.before.values) each.shape.reset();
  }
  return drawn;
}

/// What crosses the front of the layer; behind the last one, what the model gives.
std::uint64_t bytes_before(const drawn_model& model, std::size_t layer) {
  const bool is_end = layer == model.layers.size();
  return (is_end ? model.output_bytes : model.layers[layer].before.bytes()).value_or(0);
}

/// Slots in front of the stage are full, and the hungriest layer is at work.
std::uint64_t activation_bytes(const drawn_model& model, std::size_t begin, std::size_t end, std::uint32_t slots,
                               std::uint64_t label_bytes) {
  std::uint64_t largest = 0;
  for (std::size_t l = begin; l < end; ++l) {
    largest = std::max(largest, bytes_before(model, l) + bytes_before(model, l + 1));
  }
  return slots * (bytes_before(model, begin) + label_bytes) + largest;
}

planned_stage plan_stage(const drawn_model& model, std::size_t begin, std::size_t end) {
  planned_stage stage;
  for (std::size_t l = begin; l < end; ++l) {
    const drawn_layer& each = model.layers.at(l);
    stage.layers.push_back(fmt::format("{} {}", l, each.type));
    stage.parameters += each.parameters;
    stage.weight_bytes += each.weight_bytes;
  }
  return stage;
}

void plan_stages(plan_report& plan, const drawn_model& model) {
  for (std::size_t s = 0; s + 1 < plan.boundaries.size(); ++s) {
    plan.stages.push_back(plan_stage(model, plan.boundaries[s], plan.boundaries[s + 1]));
    if (s > 0) plan.cuts.push_back({.layer = plan.boundaries[s], .values = model.layers[plan.boundaries[s]].before});
  }
}

void plan_memory(plan_report& plan, const eval_options& options, const drawn_model& model, const cut_places& places,
                 const measured& found) {
  const std::uint32_t between = options.num_pipe_buffers.value_or(stage_slots_for(between_bytes(places, found)));
  const std::uint32_t from_loader = std::max(prefetch_slots_for(found.input_bytes + found.label_bytes),
                                             options.num_pipe_buffers.value_or(limits::pipe_buffers_default));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::size_t begin = plan.boundaries[s];
    plan.stages[s].input_bytes = bytes_before(model, begin) + found.label_bytes;
    plan.stages[s].activation_bytes =
        activation_bytes(model, begin, plan.boundaries[s + 1], s == 0 ? from_loader : between, found.label_bytes);
  }
}

/// The time of each stage, and what other methods would have cost.
void plan_costs(plan_report& plan, const drawn_model& model, std::vector<layer_weight> weights,
                const std::vector<double>& seconds) {
  const cut_terms terms{.cut_cost_seconds_per_byte = plan.cut_cost_seconds_per_byte, .few_because = {}};
  for (std::size_t l = 0; l < weights.size(); ++l) {
    weights[l].seconds = seconds.at(l);
    weights[l].bytes_before = bytes_before(model, l);
  }
  const auto costs = costs_of(plan.boundaries, seconds, places_of(weights), terms.cut_cost_seconds_per_byte);
  for (std::size_t s = 0; s < costs.size(); ++s) {
    plan.stages[s].seconds = costs[s].seconds;
    plan.stages[s].crossing_seconds = costs[s].crossing_seconds;
  }
  if (plan.stages.size() < 2) return;
  plan.methods = costs_of_methods(weights, plan.stages.size(), terms);
  std::erase_if(plan.methods, [&](const method_cost& each) { return each.method == plan.cut_by; });
  plan.methods.insert(plan.methods.begin(), cost_of(plan.cut_by, plan.boundaries, weights, terms));
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
  const cut_options how{.layers = options.layers,
                        .optimize = options.optimize,
                        .dtype = dtype_of(options),
                        .allow_effects = options.allow_effects,
                        .allow_random = options.allow_random};
  const auto model = TROUPE_TRY(model_of(options).open(how, "stage"));
  plan_report plan;
  plan.threads = resolve_threads(options, cores);
  plan.cut_cost_seconds_per_byte = cut_cost_of(options.run.workers);
  std::optional<measured> found;
  if (!options.data.empty()) {
    found = TROUPE_TRY(measure(options));
  }
  const auto places = TROUPE_TRY(places_for(options, *model, plan.threads, found));
  plan.runs_plain = places.choice.runs_plain;
  plan.notes = places.choice.notes;
  plan.warnings = places.choice.warnings;
  plan.model = model_name(options);
  plan.data = found ? found->data : "";
  plan.partition = options.partition;
  plan.cut_by = places.cut_by;
  plan.bits_depend_on = places.bits_depend_on;
  plan.boundaries = places.boundaries;
  plan.replicas = options.replicas;
  plan.micro_batch = options.run.micro_batch;
  const drawn_model drawn =
      draw_for(*model, places.crossing, std::min(plan.micro_batch, found ? found->samples : plan.micro_batch));
  plan_stages(plan, drawn);
  if (found) {
    plan_memory(plan, options, drawn, places, *found);
    plan_costs(plan, drawn, model->weights(), places.seconds);
  }
  plan.balance = balance_of(plan.stages);
  if (found) plan_call(plan, found->samples);
  return plan;
}

}  // namespace troupe
