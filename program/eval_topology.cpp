#include "program/eval_topology.hpp"

#include <chrono>
#include <utility>

#include "program/topology_parts.hpp"

namespace troupe {
namespace {

using seconds = std::chrono::duration<double>;

template <class Time>
std::optional<Time> time_of(const std::optional<double>& given) {
  return given ? std::optional(std::chrono::ceil<Time>(seconds(*given))) : std::nullopt;
}

template <class Time>
std::optional<double> seconds_of(const std::optional<Time>& given) {
  return given ? std::optional(seconds(*given).count()) : std::nullopt;
}

}  // namespace

topology topology_of(const eval_options& options, const eval_objects& objects) {
  std::vector<metric_choice> metrics(options.metrics.begin(), options.metrics.end());
  metrics.insert(metrics.end(), objects.metrics.begin(), objects.metrics.end());
  topology made;
  made.source("loader", objects.data ? data_choice(objects.data) : data_choice(options.data))
      .pipeline("stage", options.model,
                {.stages = options.stages,
                 .replicas = options.replicas,
                 .partition = options.partition,
                 .optimize = options.optimize,
                 .num_pipe_buffers = options.num_pipe_buffers,
                 .dtype = objects.dtype,
                 .device = options.device,
                 .allow_effects = options.allow_effects})
      .sink("metrics", std::move(metrics));
  for (const eval_sink& each : objects.sinks) made.sink(each.name, each.metrics);
  return made;
}

run_options run_options_of(const eval_options& options) {
  return {.micro_batch = options.micro_batch,
          .threads = options.threads,
          .limit = options.limit,
          .deadline = time_of<std::chrono::nanoseconds>(options.deadline),
          .trace = options.trace,
          .journal = {.file = options.journal, .resume = options.resume},
          .log = {.file = options.log, .format = options.log_format, .level = options.log_level},
          .workers = {.enabled = options.processes,
                      .transport = options.transport,
                      .timeout = *time_of<std::chrono::milliseconds>(options.worker_timeout),
                      .start_deadline = *time_of<std::chrono::milliseconds>(options.start_deadline),
                      .forward_deadline = time_of<std::chrono::nanoseconds>(options.forward_deadline),
                      .payload_crc = options.checksums ? std::optional(true) : std::nullopt},
          .faults = options.fault};
}

eval_options config_of(const topology& what, const run_options& options) {
  eval_options made;
  made.model = "topology";
  made.micro_batch = options.micro_batch;
  made.threads = options.threads;
  made.limit = options.limit;
  made.deadline = seconds_of(options.deadline);
  made.trace = options.trace;
  made.journal = options.journal.file;
  made.resume = options.journal.resume;
  made.log = options.log.file;
  made.log_format = options.log.format;
  made.log_level = options.log.level.value_or(log_level::warning);
  made.processes = options.workers.enabled || what.parts().wants_any_process();
  made.transport = options.workers.transport;
  made.worker_timeout = seconds(options.workers.timeout).count();
  made.start_deadline = seconds(options.workers.start_deadline).count();
  made.forward_deadline = seconds_of(options.workers.forward_deadline);
  made.checksums = options.workers.payload_crc.value_or(false);
  made.fault = options.faults;
  return made;
}

}  // namespace troupe
