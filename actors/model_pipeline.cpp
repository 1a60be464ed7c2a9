#include <exception>
#include <string>
#include <utility>

#include <troupe/actors/model_pipeline.hpp>
#include <troupe/runtime/edge/inproc/inproc_edge.hpp>
#include <troupe/runtime/edge/shm/shm_edge.hpp>
#include <troupe/runtime/engine/allocator.hpp>
#include <troupe/runtime/os/start_thread.hpp>
#include <troupe/runtime/tensor/tensor_codec.hpp>
#include <troupe/runtime/tensor/tensor_set.hpp>
#include <troupe/runtime/topology/plan_fingerprint.hpp>

namespace troupe {
namespace {

expected<model_pipeline> prepare_and_start(const layer_chain& chain, const model_pipeline_options& options,
                                           const at::Tensor& sample) {
  auto cut_chain = cut(chain,
                       {.stages = options.stages,
                        .threads = options.threads,
                        .optimize = options.optimize,
                        .partition = options.partition},
                       sample);
  if (!cut_chain) return tl::make_unexpected(cut_chain.error());
  const auto model = std::make_shared<const cut_model>(std::move(*cut_chain));
  auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  if (!plan) return tl::make_unexpected(plan.error());

  model_pipeline made;
  if (options.trace) made.trace = std::make_shared<trace_clock>();
  for (std::size_t part = 0; part < options.stages; ++part) made.layers.push_back(model->layer_names(part));
  std::shared_ptr<worker_setup> workers;
  if (options.workers) {
    auto setup = make_worker_setup(*plan, *options.workers, [](stage_address) { return true; });
    if (!setup) return tl::make_unexpected(setup.error());
    workers = std::move(*setup);
    workers->parcel = [model](stage_address at) { return parcel_of(*model, at.stage); };
  }
  const std::uint64_t micro_batch_bytes = sample.defined() ? sample.nbytes() + options.passenger_bytes : 0;
  const std::uint64_t between_bytes =
      model->activation_bytes == 0 ? 0 : model->activation_bytes + options.passenger_bytes;
  const assembly_options how{.depths = {.from_loader = prefetch_slots_for(micro_batch_bytes),
                                        .between_stages = stage_slots_for(between_bytes)},
                             .trace = made.trace.get(),
                             .is_elsewhere = workers ? workers->is_remote : nullptr,
                             .page_of = workers ? workers->page_finder() : nullptr};
  auto engines = assemble(
      std::move(*plan), local_edges(options.transport),
      [&](stage_address address) { return model->make_body(address.stage, address.stage); }, how);
  if (!engines) return tl::make_unexpected(engines.error());
  return start_assembly(std::move(made), std::move(*engines), std::move(workers));
}

}  // namespace

expected<wiring_plan> plan_of_chain(std::uint32_t stages, std::uint32_t replicas,
                                    std::optional<std::uint32_t> num_pipe_buffers) {
  return expand(make_chain({.stages = stages, .replicas = replicas, .num_pipe_buffers = num_pipe_buffers}));
}

std::shared_ptr<edge_factory> local_edges(transport_kind transport) {
  if (transport == transport_kind::shm) return std::make_shared<shm_edge_factory>(std::make_shared<tensor_codec>());
  return std::make_shared<inproc_edge_factory>();
}

expected<std::shared_ptr<worker_setup>> make_worker_setup(const wiring_plan& plan, const worker_options& options,
                                                          std::function<bool(stage_address)> is_remote) {
  auto setup = std::make_shared<worker_setup>();
  setup->is_remote = std::move(is_remote);
  setup->fingerprint = plan_fingerprint(plan, options.settings);
  setup->classes = options.classes;
  setup->codec = std::make_shared<tensor_codec>();
  if (options.tcp_edges) {
    auto secret = tcp_ends::make_secret();
    if (!secret) return tl::make_unexpected(secret.error());
    auto opened = tcp_ends::open(setup->codec, options.payload_crc);
    if (!opened) return tl::make_unexpected(opened.error());
    setup->secret = *secret;
    setup->tcp = std::move(*opened);
    setup->tcp->know(*secret);
  }
  setup->silence_timeout = options.silence_timeout;
  setup->start_deadline = options.start_deadline;
  setup->forward_deadline = options.forward_deadline;
  for (const wired_instance& instance : plan.instances) {
    const bool is_source = plan.nodes[instance.address.stage].kind == node_kind::source;
    if (!is_source && setup->is_remote(instance.address)) continue;
    auto page = shared_page::create();
    if (!page) return tl::make_unexpected(page.error());
    setup->local_pages.emplace(instance.address, std::move(*page));
  }
  return setup;
}

stage_parcel parcel_of(const cut_model& model, std::size_t part) {
  stage_parcel parcel{.threads = model.request.threads};
  parcel.boundaries.assign(model.boundaries.begin(), model.boundaries.end());
  if (model.warm_up[part].defined()) parcel.warm_up = make_tensors(model.warm_up[part]);
  return parcel;
}

expected<model_pipeline> start_assembly(model_pipeline made, assembly engines, std::shared_ptr<worker_setup> workers) {
  if (!workers) {
    made.running = pipeline::start(std::move(engines));
    return made;
  }
  auto running = pipeline::start(std::move(engines), std::move(workers));
  if (!running) return tl::make_unexpected(running.error());
  made.running = std::move(*running);
  return made;
}

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
  auto starter = start_thread(what, [&] {
    try {
      made = start();
    } catch (const std::exception& e) {
      made = fail(error_code::internal, what, std::string("the pipeline could not be started: ") + e.what(),
                  "report this with the model");
    } catch (...) {
      made = fail(error_code::internal, what, "the pipeline could not be started: something threw what is no exception",
                  "throw exceptions that derive from std::exception");
    }
  });
  if (!starter) return tl::make_unexpected(starter.error());
  starter->join();
  return made;
}

}  // namespace troupe
