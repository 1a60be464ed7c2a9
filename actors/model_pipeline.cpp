#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>

#include <troupe/actors/model_pipeline.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/runtime/edge/inproc/inproc_edge.hpp>
#include <troupe/runtime/engine/allocator.hpp>
#include <troupe/runtime/model/optimize.hpp>
#include <troupe/runtime/model/probe.hpp>
#include <troupe/runtime/model/profile.hpp>
#include <troupe/runtime/model/stage_inputs.hpp>
#include <troupe/runtime/model/stage_module.hpp>
#include <troupe/runtime/partition/partition_layers.hpp>
#include <troupe/runtime/tensor/tensor_set.hpp>

namespace troupe {
namespace {

expected<part_boundaries> cut(const layer_chain& chain, const model_pipeline_options& options,
                              const at::Tensor& sample) {
  auto method = parse_partition_method(options.partition);
  if (!method) return tl::make_unexpected(method.error());
  std::vector<layer_weight> weights;
  for (const layer& each : chain.layers) weights.push_back({each.type, each.trainable, 0});
  if (needs_profile(*method)) {
    if (!sample.defined()) {
      return fail(error_code::flags_contradict, "partition",
                  "\"profile\" times the layers on a sample, and there is none",
                  "give pipeline_engine_options::sample, or use another method");
    }
    auto seconds = profile_layers(chain, options.optimize, sample, options.threads);
    if (!seconds) return tl::make_unexpected(seconds.error());
    for (std::size_t index = 0; index < weights.size(); ++index) weights[index].seconds = (*seconds)[index];
  }
  return partition_layers(*method, weights, options.stages);
}

std::vector<std::vector<std::string>> layers_by_stage(const layer_chain& chain, const part_boundaries& boundaries) {
  std::vector<std::vector<std::string>> stages;
  for (std::size_t stage = 0; stage + 1 < boundaries.size(); ++stage) {
    auto& names = stages.emplace_back();
    for (std::size_t index = boundaries[stage]; index < boundaries[stage + 1]; ++index) {
      names.push_back(std::to_string(index) + " " + chain.layers[index].type);
    }
  }
  return stages;
}

expected<model_pipeline> prepare_and_start(const layer_chain& chain, const model_pipeline_options& options,
                                           const at::Tensor& sample) {
  at::set_num_threads(static_cast<int>(options.threads));  // this thread probes and profiles as the stages will run
  if (sample.defined()) {
    auto probed = probe_chain(chain, sample.narrow(0, 0, std::min<std::int64_t>(1, sample.size(0))));
    if (!probed) return tl::make_unexpected(probed.error());
  }
  auto boundaries = cut(chain, options, sample);
  if (!boundaries) return tl::make_unexpected(boundaries.error());

  std::vector<at::Tensor> warm_up(options.stages);
  if (sample.defined()) {
    auto inputs =
        stage_inputs(chain, *boundaries, sample.narrow(0, 0, std::min(limits::warm_up_samples_max, sample.size(0))));
    if (!inputs) return tl::make_unexpected(inputs.error());
    warm_up = std::move(*inputs);
  }
  // Optimized once, so that replicas share the rewritten weights.
  const bool by_layer = options.optimize == optimize_mode::layer;
  expected<layer_chain> code = by_layer ? optimize_layers(chain) : expected<layer_chain>{chain};
  if (!code) return tl::make_unexpected(code.error());

  const body_factory make_body = [&](stage_address address) -> expected<std::shared_ptr<stage_body>> {
    stage_module_options body{.stage = address.stage,
                              .threads = options.threads,
                              .optimize = by_layer ? optimize_mode::none : options.optimize,
                              .warm_up_input = {}};
    if (warm_up[address.stage].defined()) body.warm_up_input = warm_up[address.stage];
    auto made =
        model_stage::make(*code, (*boundaries)[address.stage], (*boundaries)[address.stage + 1], std::move(body));
    if (!made) return tl::make_unexpected(made.error());
    return std::shared_ptr<stage_body>{std::move(*made)};
  };
  auto plan = expand(make_chain(
      {.stages = options.stages, .replicas = options.replicas, .num_pipe_buffers = options.num_pipe_buffers}));
  if (!plan) return tl::make_unexpected(plan.error());

  const std::uint64_t micro_batch_bytes = sample.defined() ? sample.nbytes() : 0;
  const std::uint32_t prefetch = prefetch_slots_for(micro_batch_bytes, options.num_pipe_buffers);
  model_pipeline made;
  if (options.trace) made.trace = std::make_shared<trace_clock>();
  auto engines = assemble(std::move(*plan), std::make_shared<inproc_edge_factory>(), make_body,
                          {.prefetch_slots = prefetch, .trace = made.trace.get()});
  if (!engines) return tl::make_unexpected(engines.error());
  made.layers = layers_by_stage(chain, *boundaries);
  made.running = pipeline::start(std::move(*engines));
  return made;
}

}  // namespace

// A thread of its own: whoever runs kernels keeps a team of OpenMP threads, and libgomp lets no team spin when it
// counts more threads than cores. The caller's thread would go on counting for the whole run.
expected<model_pipeline> start_model_pipeline(const layer_chain& chain, const model_pipeline_options& options,
                                              const at::Tensor& sample) {
  keep_freed_memory();
  expected<model_pipeline> made = fail(error_code::internal, "model pipeline", "it was not started");
  std::thread starter([&] {
    try {
      made = prepare_and_start(chain, options, sample);
    } catch (const std::exception& e) {
      made = fail(error_code::internal, chain.file, std::string("the pipeline could not be started: ") + e.what(),
                  "report this with the model");
    }
  });
  starter.join();
  return made;
}

}  // namespace troupe
