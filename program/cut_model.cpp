#include "program/cut_model.hpp"

#include <algorithm>
#include <utility>

#include <ATen/Parallel.h>

#include "messages/limits.hpp"
#include "runtime/model/optimize.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/stage_inputs.hpp"
#include "runtime/model/stage_module.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

expected<part_boundaries> find_boundaries(const layer_chain& chain, const cut_request& request,
                                          const at::Tensor& sample, const std::stop_token& stop) {
  auto method = parse_partition_method(request.partition);
  if (!method) return tl::make_unexpected(method.error());
  std::vector<layer_weight> weights;
  for (const layer& each : chain.layers) weights.push_back({each.type, each.trainable, 0});
  if (needs_profile(*method)) {
    if (!sample.defined()) {
      return fail(error_code::flags_contradict, "partition",
                  "\"profile\" times the layers on a sample, and there is none",
                  "give pipeline_engine_options::sample, or use another method");
    }
    auto seconds = profile_layers(chain, request.optimize, sample, request.threads, stop);
    if (!seconds) return tl::make_unexpected(seconds.error());
    for (std::size_t index = 0; index < weights.size(); ++index) weights[index].seconds = (*seconds)[index];
  }
  return partition_layers(*method, weights, request.stages);
}

/// Of `samples`, by what fewer of them take in front of each stage.
std::uint64_t largest_between(const std::vector<at::Tensor>& inputs, std::int64_t samples) {
  std::uint64_t largest = 0;
  for (std::size_t stage = 1; stage < inputs.size(); ++stage) {
    const std::uint64_t rows = std::max<std::int64_t>(1, inputs.front().size(0));
    largest = std::max(largest, (inputs[stage].nbytes() * samples + rows - 1) / rows);
  }
  return largest;
}

bool can_be_cut(const layer_chain& chain, const cut_request& request, const part_boundaries& boundaries) {
  return boundaries.size() == request.stages + 1 && std::ranges::is_sorted(boundaries) && boundaries.front() == 0 &&
         boundaries.back() == chain.layers.size();
}

tl::unexpected<error> other_cut(const layer_chain& chain) {
  return fail(error_code::worker_mismatch, chain.file, "it was not cut like this",
              "leave the model's file alone while it is evaluated");
}

}  // namespace

expected<cut_model> cut(const layer_chain& chain, const cut_request& request, const at::Tensor& sample,
                        const std::stop_token& stop) {
  at::set_num_threads(static_cast<int>(request.threads));  // probes and profiles as the stages will run
  if (sample.defined()) {
    auto probed = probe_chain(chain, sample.narrow(0, 0, std::min<std::int64_t>(1, sample.size(0))), stop);
    if (!probed) return tl::make_unexpected(probed.error());
  }
  auto boundaries = find_boundaries(chain, request, sample, stop);
  if (!boundaries) return tl::make_unexpected(boundaries.error());

  cut_model made{
      .request = request, .chain = chain, .boundaries = std::move(*boundaries), .warm_up = {}, .activation_bytes = 0};
  made.warm_up.resize(request.stages);
  if (sample.defined()) {
    auto inputs = stage_inputs(chain, made.boundaries,
                               sample.narrow(0, 0, std::min(limits::warm_up_samples_max, sample.size(0))), stop);
    if (!inputs) return tl::make_unexpected(inputs.error());
    made.warm_up = std::move(*inputs);
    made.activation_bytes = largest_between(made.warm_up, sample.size(0));
  }
  if (request.optimize == optimize_mode::layer) {  // once, so that replicas share the rewritten weights
    auto optimized = optimize_layers(chain, stop);
    if (!optimized) return tl::make_unexpected(optimized.error());
    made.chain = std::move(*optimized);
  }
  return made;
}

expected<cut_model> cut_again(layer_chain chain, const cut_request& request, part_boundaries boundaries,
                              std::size_t part, const at::Tensor& warm_up, bool is_optimized) {
  if (!can_be_cut(chain, request, boundaries) || part >= request.stages) return other_cut(chain);
  const auto first = chain.layers.begin() + static_cast<std::ptrdiff_t>(boundaries[part]);
  const auto last = chain.layers.begin() + static_cast<std::ptrdiff_t>(boundaries[part + 1]);
  if (request.optimize == optimize_mode::layer && !is_optimized) {
    auto optimized = optimize_layers({chain.file, {first, last}});
    if (!optimized) return tl::make_unexpected(optimized.error());
    std::ranges::move(optimized->layers, first);
  }
  cut_model made{.request = request,
                 .chain = std::move(chain),
                 .boundaries = std::move(boundaries),
                 .warm_up = {},
                 .activation_bytes = 0};
  made.warm_up.resize(request.stages);
  made.warm_up[part] = warm_up;
  return made;
}

expected<cut_model> cut_as(const layer_chain& chain, const cut_request& request, part_boundaries boundaries,
                           std::vector<at::Tensor> warm_up, const std::stop_token& stop) {
  if (!can_be_cut(chain, request, boundaries) || warm_up.size() != request.stages) return other_cut(chain);
  auto optimized =
      request.optimize == optimize_mode::layer ? optimize_layers(chain, stop) : expected<layer_chain>(chain);
  if (!optimized) return tl::make_unexpected(optimized.error());
  return cut_model{.request = request,
                   .chain = std::move(*optimized),
                   .boundaries = std::move(boundaries),
                   .warm_up = std::move(warm_up),
                   .activation_bytes = 0};
}

expected<layer_chain> load_optimized(const std::string& file, optimize_mode optimize, const model_loading& how) {
  auto chain = load_chain(file, how);
  if (!chain || optimize != optimize_mode::layer) return chain;
  return optimize_layers(*chain);
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
  std::vector<std::string> names;
  for (std::size_t index = boundaries[part]; index < boundaries[part + 1]; ++index) {
    names.push_back(std::to_string(index) + " " + chain.layers[index].type);
  }
  return names;
}

expected<std::shared_ptr<stage_body>> cut_model::make_body(std::size_t part, stage_index stage) const {
  const bool optimized = request.optimize == optimize_mode::layer;
  stage_module_options options{.stage = stage,
                               .threads = request.threads,
                               .optimize = optimized ? optimize_mode::none : request.optimize,
                               .warm_up_input = {}};
  if (warm_up[part].defined()) options.warm_up_input = warm_up[part];
  auto made = model_stage::make(chain, boundaries[part], boundaries[part + 1], std::move(options));
  if (!made) return tl::make_unexpected(made.error());
  return std::shared_ptr<stage_body>{std::move(*made)};
}

}  // namespace troupe
