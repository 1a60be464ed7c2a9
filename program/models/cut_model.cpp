#include "program/models/cut_model.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {
namespace {

std::chrono::milliseconds budget_of(const partition_method& asked) {
  return asked.kind == partition_kind::automatic ? limits::automatic_profile_budget : limits::profile_budget;
}

/// What the partition knows of the layers; `samples` of a micro-batch would cross.
std::vector<layer_weight> weights_of(const layered_model& model, const cut_places& known, std::int64_t samples) {
  std::vector<layer_weight> weights = model.weights();
  for (std::size_t layer = 0; layer < weights.size(); ++layer) {
    if (layer < known.seconds.size()) weights[layer].seconds = known.seconds[layer];
    if (layer < known.crossing.size())
      weights[layer].bytes_before = bytes_of(known.crossing[layer], static_cast<std::uint64_t>(samples - 1));
  }
  return weights;
}

std::string why_few(const layered_model& model) {
  for (const graph_layer& each : model.layers()) {
    if (each.uncut) return "between operators of " + each.name + " no cut is possible: " + *each.uncut;
  }
  return {};
}

/// Times the layers, if the method needs it, and gives boundaries and method.
expected<void> find_boundaries(const layered_model& model, const cut_request& request, const graph_values& sample,
                               const std::stop_token& stop, cut_places& into) {
  const auto asked = TROUPE_TRY(parse_partition_method(request.partition));
  const bool can_be_timed = !sample.empty();
  const std::int64_t samples = can_be_timed && sample.front().dim() > 0 ? sample.front().size(0) : 1;
  const partition_method method =
      settle(asked, most_stages(weights_of(model, into, samples)), request.stages, can_be_timed);
  if (needs_profile(method) && !can_be_timed) {
    return fail(error_code::flags_contradict, "partition",
                "\"profile\" times the layers on a sample, and there is none",
                "give pipeline_engine_options::sample, or use another method");
  }
  if (needs_profile(method) || (request.times_layers && can_be_timed)) {
    const auto budget = request.times_layers ? limits::profile_budget : budget_of(asked);
    into.seconds = TROUPE_TRY(model.time_layers(sample, request.threads, stop, budget));
  }
  const cut_terms terms{.cut_cost_seconds_per_byte = request.cut_cost_seconds_per_byte, .few_because = why_few(model)};
  into.boundaries = TROUPE_TRY(partition_layers(method, weights_of(model, into, samples), request.stages, terms));
  into.cut_by = to_string(method);
  return {};
}

std::uint64_t bytes_of(const graph_values& values) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& each : values) bytes += each.nbytes();
  return bytes;
}

/// The largest input of a stage for `samples`, by the bytes of fewer samples in front of each.
std::uint64_t largest_between(const std::vector<graph_values>& inputs, std::int64_t samples, std::int64_t fewer) {
  std::uint64_t largest = 0;
  for (std::size_t stage = 1; stage < inputs.size(); ++stage) {
    const auto rows = static_cast<std::uint64_t>(std::max<std::int64_t>(1, fewer));
    largest = std::max(largest, (bytes_of(inputs[stage]) * static_cast<std::uint64_t>(samples) + rows - 1) / rows);
  }
  return largest;
}

bool can_be_cut(const layered_model& model, const cut_request& request, const cut_places& places) {
  const part_boundaries& found = places.boundaries;
  if (found.size() != request.stages + 1 || !std::ranges::is_sorted(found) || found.front() != 0 ||
      found.back() != model.layers().size() || places.warm_up.size() != request.stages)
    return false;
  return std::all_of(found.begin() + 1, found.end() - 1, [&](std::size_t at) { return model.can_begin(at); });
}

}  // namespace

double cut_cost_of(const worker_options& workers, bool spans_nodes) {
  if (!workers.enabled) return cut_cost::in_process;
  return spans_nodes || workers.transport == transport_kind::tcp ? cut_cost::tcp : cut_cost::shm;
}

namespace {

/// Before anything is computed, since the data would have to be of the same type.
expected<void> check_types_of_trained(const layered_model& model) {
  for (const graph_weight& each : model.plain().model().weights) {
    const at::ScalarType type = each.tensor.scalar_type();
    const bool is_trained = each.kind == weight_kind::trainable && each.tensor.is_floating_point();
    if (!is_trained || type == at::kFloat || type == at::kDouble) continue;
    return fail(
        error_code::model_unsupported, model.name(),
        "its weight \"" + each.name + "\" is of type " + c10::toString(type) + ", and weights are trained in float32",
        "convert the model to float32 (model.float()), and export or save it again");
  }
  return {};
}

}  // namespace

expected<cut_places> find_places(layered_model& model, const cut_request& request, const payload_ptr& sample,
                                 const std::stop_token& stop) {
  set_threads_of_this_thread(request.threads);  // probes and profiles as the stages will run
  const std::set<std::string> names = names_of_inputs(sample);
  model.bind(names);
  if (request.trains) TROUPE_TRY(check_types_of_trained(model));
  cut_places found{.boundaries = {}, .inputs = {names.begin(), names.end()}, .warm_up = {}};
  const rewrite_choice_request asked{.optimize = request.optimize,
                                     .is_for_device = request.is_for_device,
                                     .allow_random = request.allow_random,
                                     .journaled = request.journaled_plain};
  if (!request.trains) found.choice = TROUPE_TRY(judge_code(model, asked));
  graph_values inputs;
  if (sample != nullptr) {
    inputs = TROUPE_TRY(model.inputs_from(sample));
    found.crossing = TROUPE_TRY(model.probe(inputs, stop));
  }
  if (!request.trains) TROUPE_TRY(try_model(model, asked, inputs, stop, found.choice));
  found.bits_depend_on = model.bit_dependence(request.threads, first_rows(inputs, limits::compared_samples_max));
  TROUPE_TRY(find_boundaries(model, request, inputs, stop, found));
  found.warm_up.resize(request.stages);
  if (sample == nullptr) return found;
  const std::int64_t samples = inputs.front().dim() == 0 ? 1 : inputs.front().size(0);
  const std::int64_t fewer = std::min(limits::warm_up_samples_max, samples);
  found.warm_up = TROUPE_TRY(model.inputs_of(found.boundaries, first_rows(inputs, fewer), stop));
  found.activation_bytes = largest_between(found.warm_up, samples, fewer);
  return found;
}

expected<cut_model> cut(layered_model_ptr model, const cut_request& request, const payload_ptr& sample,
                        const std::stop_token& stop) {
  auto places = TROUPE_TRY(find_places(*model, request, sample, stop));
  return cut_model{.request = request, .model = std::move(model), .places = std::move(places)};
}

expected<cut_model> cut_at(layered_model_ptr model, const cut_request& request, cut_places places) {
  model->bind({places.inputs.begin(), places.inputs.end()});
  if (!can_be_cut(*model, request, places)) {
    return fail(error_code::worker_mismatch, model->name(), "it was not cut like this",
                "leave the model's file alone while it is evaluated");
  }
  if (request.optimize == optimize_mode::none || places.choice.runs_plain) {
    model->run_plain();
  } else {
    model->optimize(request.is_for_device);
  }
  return cut_model{.request = request, .model = std::move(model), .places = std::move(places)};
}

graph_values warm_up_of(const payload_ptr& sent, bool is_replacement) {
  if (sent == nullptr) return {};
  const graph_values& all = as_tensors(sent).tensors();
  const auto has_rows = [&](const at::Tensor& each) { return each.dim() > 0 && each.size(0) == all.front().size(0); };
  if (!is_replacement || all.empty() || !std::ranges::all_of(all, has_rows)) return all;
  return first_rows(all, limits::warm_up_samples_of_replacement);
}

std::vector<std::string> cut_model::layer_names(std::size_t part) const {
  std::vector<std::string> names;
  for (std::size_t index = places.boundaries[part]; index < places.boundaries[part + 1]; ++index)
    names.push_back(std::to_string(index) + " " + model->layers()[index].type);
  return names;
}

expected<std::shared_ptr<stage_body>> cut_model::make_body(std::size_t part, stage_index stage,
                                                           c10::Device device) const {
  return model->make_body(
      places.boundaries[part], places.boundaries[part + 1],
      {.stage = stage, .threads = request.threads, .warm_up = places.warm_up[part], .device = device});
}

}  // namespace troupe
