#include <exception>
#include <string>
#include <thread>
#include <utility>

#include <troupe/actors/cut_model.hpp>
#include <troupe/actors/model_pipeline.hpp>
#include <troupe/runtime/edge/inproc/inproc_edge.hpp>
#include <troupe/runtime/engine/allocator.hpp>

namespace troupe {
namespace {

expected<model_pipeline> prepare_and_start(const layer_chain& chain, const model_pipeline_options& options,
                                           const at::Tensor& sample) {
  const auto model = cut(chain,
                         {.stages = options.stages,
                          .threads = options.threads,
                          .optimize = options.optimize,
                          .partition = options.partition},
                         sample);
  if (!model) return tl::make_unexpected(model.error());
  const body_factory make_body = [&](stage_address address) { return model->make_body(address.stage, address.stage); };
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
  for (std::size_t part = 0; part < options.stages; ++part) made.layers.push_back(model->layer_names(part));
  made.running = pipeline::start(std::move(*engines));
  return made;
}

}  // namespace

expected<model_pipeline> start_model_pipeline(const layer_chain& chain, const model_pipeline_options& options,
                                              const at::Tensor& sample) {
  return in_starting_thread(chain.file, [&] { return prepare_and_start(chain, options, sample); });
}

// Whoever runs kernels keeps a team of OpenMP threads, and libgomp lets no team spin when it counts more threads than
// cores. The caller's thread would go on counting for the whole run.
expected<model_pipeline> in_starting_thread(const std::string& what,
                                            const std::function<expected<model_pipeline>()>& start) {
  keep_freed_memory();
  expected<model_pipeline> made = fail(error_code::internal, what, "it was not started");
  std::thread starter([&] {
    try {
      made = start();
    } catch (const std::exception& e) {
      made = fail(error_code::internal, what, std::string("the pipeline could not be started: ") + e.what(),
                  "report this with the model");
    }
  });
  starter.join();
  return made;
}

}  // namespace troupe
