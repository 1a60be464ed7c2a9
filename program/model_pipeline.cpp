#include "program/model_pipeline.hpp"

#include <exception>
#include <string>
#include <utility>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/engine/allocator.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

/// A chain that has been cut, here or in another process.
struct cut_stages {
  cut_report cut;
  /// See cut_model.
  std::uint64_t activation_bytes = 0;
  body_factory make_body;
};

expected<std::shared_ptr<worker_setup>> set_up_workers(const wiring_plan& plan, const model_pipeline_options& options,
                                                       const cut_report& cut) {
  if (!options.workers) return std::shared_ptr<worker_setup>();
  auto setup = make_worker_setup(plan, *options.workers, [](stage_address) { return true; });
  if (!setup) return setup;
  std::vector<stage_parcel> parcels;
  for (std::size_t part = 0; part < options.stages; ++part) parcels.push_back(parcel_of(cut, options.threads, part));
  (*setup)->parcel = [parcels = std::move(parcels)](stage_address at) { return parcels[at.stage]; };
  return setup;
}

expected<model_pipeline> start_cut(cut_stages stages, const model_pipeline_options& options, const at::Tensor& sample) {
  auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  if (!plan) return tl::make_unexpected(plan.error());
  model_pipeline made;
  if (options.trace) made.trace = std::make_shared<trace_clock>();
  made.layers = stages.cut.layers;
  auto workers = set_up_workers(*plan, options, stages.cut);
  if (!workers) return tl::make_unexpected(workers.error());
  const std::uint64_t micro_batch_bytes = sample.defined() ? sample.nbytes() + options.passenger_bytes : 0;
  const std::uint64_t between_bytes =
      stages.activation_bytes == 0 ? 0 : stages.activation_bytes + options.passenger_bytes;
  const assembly_options how{.depths = {.from_loader = prefetch_slots_for(micro_batch_bytes),
                                        .between_stages = stage_slots_for(between_bytes)},
                             .trace = made.trace.get(),
                             .is_elsewhere = *workers ? (*workers)->is_remote : nullptr,
                             .page_of = *workers ? (*workers)->page_finder() : nullptr};
  auto engines = assemble(std::move(*plan), local_edges(options.transport), stages.make_body, how);
  if (!engines) return tl::make_unexpected(engines.error());
  if (options.stop.stop_requested()) return stopped_early("the model");
  return start_assembly(std::move(made), std::move(*engines), std::move(*workers));
}

expected<model_pipeline> prepare_and_start(const layer_chain& chain, const model_pipeline_options& options,
                                           const at::Tensor& sample) {
  auto cut_chain = cut(chain,
                       {.stages = options.stages,
                        .threads = options.threads,
                        .optimize = options.optimize,
                        .partition = options.partition},
                       sample, options.stop);
  if (!cut_chain) return tl::make_unexpected(cut_chain.error());
  const auto model = std::make_shared<const cut_model>(std::move(*cut_chain));
  return start_cut({.cut = report_of(*model, {}),
                    .activation_bytes = model->activation_bytes,
                    .make_body = [model](stage_address at) { return model->make_body(at.stage, at.stage); }},
                   options, sample);
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

cut_report report_of(const cut_model& model, std::string name) {
  cut_report made{.name = std::move(name), .boundaries = {}, .layers = {}, .warm_up = {}};
  made.boundaries.assign(model.boundaries.begin(), model.boundaries.end());
  for (std::size_t part = 0; part < model.warm_up.size(); ++part) {
    made.layers.push_back(model.layer_names(part));
    made.warm_up.push_back(model.warm_up[part].defined() ? make_tensors(model.warm_up[part]) : nullptr);
  }
  return made;
}

stage_parcel parcel_of(const cut_report& cut, std::uint32_t threads, std::size_t part) {
  return {.threads = threads, .boundaries = cut.boundaries, .warm_up = cut.warm_up[part]};
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

expected<model_pipeline> start_reported_pipeline(const probe_report& report, const model_pipeline_options& options,
                                                 const at::Tensor& sample) {
  if (report.cuts.size() != 1) {
    return fail(error_code::wire_malformed, "the report of the try-out", "it is not of one model");
  }
  if (auto fits = check_cut(report.cuts.front(), options.stages); !fits) return tl::make_unexpected(fits.error());
  return start_cut({.cut = report.cuts.front(),
                    .activation_bytes = report.between_bytes,
                    .make_body = [](stage_address) -> expected<std::shared_ptr<stage_body>> {
                      return fail(error_code::internal, "pipeline", "all stages are in workers", "report this");
                    }},
                   options, sample);
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
