#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"
#include "program/cut_model.hpp"
#include "program/pipeline.hpp"
#include "program/probe_report.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/model/layer_chain.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

/// How stages are run in worker processes.
struct worker_options {
  std::chrono::milliseconds silence_timeout = limits::worker_silence_timeout;
  std::chrono::milliseconds start_deadline = limits::worker_start_deadline;
  std::optional<std::chrono::nanoseconds> forward_deadline = std::nullopt;
  bool tcp_edges = false;
  /// Of tcp edges, as tcp_endpoint_options::payload_crc, of what the driver sends.
  std::optional<bool> payload_crc = std::nullopt;
  /// Of the data set, for metrics by name.
  std::uint32_t classes = 0;
  /// What workers must have found out alike: text for plan_fingerprint().
  std::string settings = {};
};

/// How a chain of layers becomes a running pipeline.
struct model_pipeline_options {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// Intra-op threads per stage, resolved.
  std::uint32_t threads = 1;
  optimize_mode optimize = optimize_mode::layer;
  std::string partition = "parameters";
  /// Nothing: by the size of what passes between stages.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// Of a micro-batch like the sample: labels, which travel with it.
  std::uint64_t passenger_bytes = 0;
  bool trace = false;
  transport_kind transport = transport_kind::automatic;
  /// Every stage replica in a worker process; nothing: all in this one.
  std::optional<worker_options> workers = std::nullopt;
  /// Ends the preparation between layers and rounds, with E0607.
  std::stop_token stop = {};
};

/// A model cut into stages, running. Replicas share the weights.
struct model_pipeline {
  /// Numbers the events of the run's trace, if one was asked for; outlives the engines.
  std::shared_ptr<trace_clock> trace;
  /// "0 Conv2d" for each layer, by stage.
  std::vector<std::vector<std::string>> layers;
  /// Shared with the futures of calls under way.
  std::shared_ptr<pipeline> running;
};

/// Optimizes, cuts and starts. `sample` is a real micro-batch [N, ...] to warm the stages up with, to size the loader's
/// prefetch by, and to time layers on for partition = "profile"; without it (undefined) there is no profile. Errors:
/// E0106 more stages than layers, E05xx partition, E0209 a layer that does not accept the sample.
expected<model_pipeline> start_model_pipeline(const layer_chain& chain, const model_pipeline_options& options,
                                              const at::Tensor& sample);

/// The same with a model that was tried out and cut in another process, and runs in workers alone: nothing of it is
/// read or computed here. `options.workers` is set; `sample` is only measured. E0702 for a report that does not fit.
expected<model_pipeline> start_reported_pipeline(const probe_report& report, const model_pipeline_options& options,
                                                 const at::Tensor& sample);

/// The plan of `troupe eval`: a chain of stages, each in so many copies.
expected<wiring_plan> plan_of_chain(std::uint32_t stages, std::uint32_t replicas,
                                    std::optional<std::uint32_t> num_pipe_buffers);

/// Edges inside a process, of the kind asked for.
std::shared_ptr<edge_factory> local_edges(transport_kind transport);

/// The setup of a run whose stages of `is_remote` are in workers, but for its parcels. Local stages and the loader get
/// shared pages. E0614.
expected<std::shared_ptr<worker_setup>> make_worker_setup(const wiring_plan& plan, const worker_options& options,
                                                          std::function<bool(stage_address)> is_remote);
/// Starts what was assembled, with workers if there are any.
expected<model_pipeline> start_assembly(model_pipeline made, assembly engines, std::shared_ptr<worker_setup> workers);

/// What a driver needs to know of a cut.
cut_report report_of(const cut_model& model, std::string name);
/// What a worker needs of a cut to become one of its parts, with so many threads.
stage_parcel parcel_of(const cut_report& cut, std::uint32_t threads, std::size_t part);

/// Runs `start` on a thread that ends with it; an exception becomes E0601, which names `what`.
expected<model_pipeline> in_starting_thread(const std::string& what,
                                            const std::function<expected<model_pipeline>()>& start);

}  // namespace troupe
