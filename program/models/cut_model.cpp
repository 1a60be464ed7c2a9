#include "program/models/cut_model.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <ATen/Parallel.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

std::chrono::milliseconds budget_of(const partition_method& asked) {
  return asked.kind == partition_kind::automatic ? limits::automatic_profile_budget : limits::profile_budget;
}

/// Without warm-up inputs so far.
expected<cut_places> find_boundaries(layered_model& model, const cut_request& request, const at::Tensor& sample,
                                     layer_choice choice, std::vector<double> seconds, const std::stop_token& stop) {
  const auto asked = TROUPE_TRY(parse_partition_method(request.partition));
  std::vector<layer_weight> weights = model.weights();
  const bool can_be_timed = sample.defined() || !seconds.empty();
  const partition_method method = settle(asked, weights.size(), request.stages, can_be_timed);
  const bool times = needs_profile(method) || (request.times_layers && sample.defined());
  if (times && seconds.empty()) {
    if (!sample.defined()) {
      return fail(error_code::flags_contradict, "partition",
                  "\"profile\" times the layers on a sample, and there is none",
                  "give pipeline_engine_options::sample, or use another method");
    }
    const auto budget = request.times_layers ? limits::profile_budget : budget_of(asked);
    seconds = TROUPE_TRY(model.time_layers(sample, request.optimize, choice.plain, request.threads, stop, budget));
  }
  for (std::size_t index = 0; index < seconds.size(); ++index) weights[index].seconds = seconds[index];
  return partition_layers(method, weights, request.stages).map([&](part_boundaries found) {
    return cut_places{.boundaries = std::move(found),
                      .cut_by = to_string(method),
                      .warm_up = {},
                      .activation_bytes = 0,
                      .choice = std::move(choice),
                      .seconds = std::move(seconds)};
  });
}

/// The largest input of a stage for `samples`, by the bytes of fewer samples in front of each.
std::uint64_t largest_between(const std::vector<at::Tensor>& inputs, std::int64_t samples) {
  std::uint64_t largest = 0;
  for (std::size_t stage = 1; stage < inputs.size(); ++stage) {
    const std::uint64_t rows = std::max<std::int64_t>(1, inputs.front().size(0));
    largest = std::max(largest, (inputs[stage].nbytes() * samples + rows - 1) / rows);
  }
  return largest;
}

bool can_be_cut(const layered_model& model, const cut_request& request, const cut_places& places) {
  const part_boundaries& found = places.boundaries;
  return found.size() == request.stages + 1 && std::ranges::is_sorted(found) && found.front() == 0 &&
         found.back() == model.weights().size() && places.warm_up.size() == request.stages;
}

}  // namespace

expected<cut_places> find_places(layered_model& model, const cut_request& request, const at::Tensor& sample,
                                 std::vector<double> seconds, const std::stop_token& stop) {
  at::set_num_threads(static_cast<int>(request.threads));  // probes and profiles as the stages will run
  const layer_choice_request asked{
      .optimize = request.optimize, .allow_random = request.allow_random, .journaled = request.journaled_plain};
  auto choice = TROUPE_TRY(judge_code(model, asked));
  if (sample.defined()) {
    TROUPE_TRY(model.probe(sample, request.threads, stop));
  }
  TROUPE_TRY(try_layers(model, asked, sample, stop, choice));
  auto found = find_boundaries(model, request, sample, std::move(choice), std::move(seconds), stop);
  if (!found) return found;
  found->warm_up.resize(request.stages);
  if (!sample.defined()) {
    const auto tried = try_stages(model, asked, found->boundaries, {}, stop, found->choice);
    return tried ? std::move(found) : tl::make_unexpected(tried.error());
  }
  auto inputs = TROUPE_TRY(model.inputs_of(
      found->boundaries, sample.narrow(0, 0, std::min(limits::warm_up_samples_max, sample.size(0))), stop));
  if (auto tried = try_stages(model, asked, found->boundaries, inputs, stop, found->choice); !tried) {
    return tl::make_unexpected(tried.error());
  }
  found->warm_up = std::move(inputs);
  found->activation_bytes = largest_between(found->warm_up, sample.size(0));
  return found;
}

expected<cut_model> cut(layered_model_ptr model, const cut_request& request, const at::Tensor& sample,
                        const std::stop_token& stop) {
  return find_places(*model, request, sample, {}, stop).and_then([&](cut_places places) {
    return cut_at(std::move(model), request, std::move(places), std::nullopt, stop);
  });
}

expected<cut_model> cut_at(layered_model_ptr model, const cut_request& request, cut_places places,
                           std::optional<std::size_t> part, const std::stop_token& stop) {
  if (!can_be_cut(*model, request, places) || part.value_or(0) >= request.stages) {
    return fail(error_code::worker_mismatch, model->name(), "it was not cut like this",
                "leave the model's file alone while it is evaluated");
  }
  // once, so that replicas share the rewritten weights; an empty range frees what was prepared
  const bool is_done_here = request.optimize == optimize_mode::layer && !request.is_for_device;
  const std::size_t begin = is_done_here && part ? places.boundaries[*part] : 0;
  const std::size_t end = !is_done_here ? 0 : part ? places.boundaries[*part + 1] : places.boundaries.back();
  if (auto done = model->optimize(begin, end, places.choice.plain, stop); !done) {
    return tl::make_unexpected(done.error());
  }
  return cut_model{.request = request, .model = std::move(model), .places = std::move(places)};
}

at::Tensor warm_up_of(const at::Tensor& sent, bool is_replacement) {
  if (!is_replacement || !sent.defined() || sent.dim() == 0) return sent;
  return sent.narrow(0, 0, std::min(limits::warm_up_samples_of_replacement, sent.size(0)));
}

expected<at::Tensor> warm_up_of(const payload_ptr& sent, bool is_replacement) {
  if (sent == nullptr) return at::Tensor();
  const std::vector<at::Tensor>& tensors = as_tensors(sent).tensors();
  if (tensors.size() == 1) return warm_up_of(tensors.front(), is_replacement);
  return fail(error_code::wire_malformed, "warm-up input", std::to_string(tensors.size()) + " tensors, and not one",
              "run the same version of Troupe everywhere");
}

std::vector<std::string> cut_model::layer_names(std::size_t part) const {
  const std::vector<layer_weight> layers = model->weights();
  std::vector<std::string> names;
  for (std::size_t index = places.boundaries[part]; index < places.boundaries[part + 1]; ++index) {
    names.push_back(std::to_string(index) + " " + layers[index].type_name);
  }
  return names;
}

expected<std::shared_ptr<stage_body>> cut_model::make_body(std::size_t part, stage_index stage,
                                                           c10::Device device) const {
  return model->make_body(places.boundaries[part], places.boundaries[part + 1],
                          {.stage = stage,
                           .threads = request.threads,
                           .optimize = request.optimize,
                           .warm_up = places.warm_up[part],
                           .device = device,
                           .plain = places.choice.plain});
}

}  // namespace troupe
