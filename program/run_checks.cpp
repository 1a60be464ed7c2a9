#include "program/run_checks.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "actors/workers/room_of.hpp"
#include "messages/limits.hpp"
#include "program/model_pipeline.hpp"
#include "program/program.hpp"

namespace troupe {
namespace {

expected<void> check_processes(const run_options& options, bool processes) {
  const auto contradict = [](std::string where, std::string cause, std::string fix) {
    return fail(error_code::flags_contradict, std::move(where), std::move(cause), std::move(fix));
  };
  if (!processes) {
    if (options.transport == transport_kind::tcp)
      return contradict("transport", "tcp edges are between processes", "set processes");
    if (options.forward_deadline)
      return contradict("forward_deadline", "a forward in this process cannot be ended", "set processes");
    return {};
  }
  if (!program::exists())
    return contradict("processes", "workers of this program would not know what they are",
                      "make a troupe::program at the start of main()");
  if (options.transport == transport_kind::inproc)
    return contradict("transport", "inproc edges do not leave a process", "leave it out");
  if (options.trace) return contradict("trace", "a trace is recorded inside one process", "leave it out");
  for (const auto& [name, seconds] :
       {std::pair{"worker_timeout", options.worker_timeout}, {"start_deadline", options.start_deadline}}) {
    if (seconds >= limits::worker_timeout_min && seconds <= limits::deadline_seconds_max) continue;
    return fail(error_code::value_out_of_range, name, "it is " + std::to_string(seconds) + " s",
                "choose another value");
  }
  return {};
}

/// Of the stages that say how many they want.
std::uint32_t most_threads(const topology& what) {
  std::uint32_t most = 1;
  for (const auto& [name, content] : what.contents()) {
    if (const auto* stage = std::get_if<topology::stage_node>(&content)) {
      most = std::max(most, stage->options.threads.value_or(1));
    }
  }
  for (const auto& [name, pipeline] : what.pipelines()) most = std::max(most, pipeline.options.threads.value_or(1));
  return most;
}

}  // namespace

expected<void> check_run(const run_options& options, bool processes) {
  const auto wrong = [](std::string where, std::string cause) {
    return fail(error_code::value_out_of_range, std::move(where), std::move(cause), "choose another value");
  };
  if (options.micro_batch < 1 || options.micro_batch > limits::micro_batch_max) {
    return wrong("micro_batch", "it is " + std::to_string(options.micro_batch) + ", allowed are 1 to " +
                                    std::to_string(limits::micro_batch_max));
  }
  if (options.threads && (*options.threads < 1 || *options.threads > limits::threads_max)) {
    return wrong("threads", "it is " + std::to_string(*options.threads) + ", allowed are 1 to " +
                                std::to_string(limits::threads_max));
  }
  if (options.limit && *options.limit == 0) return wrong("limit", "no sample would be evaluated");
  if (options.deadline &&
      !(*options.deadline >= limits::deadline_seconds_min && *options.deadline <= limits::deadline_seconds_max)) {
    return wrong("deadline", "it is " + std::to_string(*options.deadline) + " s");
  }
  return check_processes(options, processes);
}

expected<void> check_room(const eval_options& options) {
  const auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  if (!plan) return {};
  room_options asked{.threads = options.threads.value_or(1), .tcp_edges = options.transport == transport_kind::tcp};
  if (options.processes) asked.is_remote = [](stage_address) { return true; };
  return ensure_room(room_of_run(*plan, asked));
}

expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads) {
  const auto plan = expand(what.graph());
  if (!plan) return {};
  room_options asked{.threads = std::max(threads, most_threads(what)),
                     .is_remote = nullptr,
                     .tcp_edges = options.transport == transport_kind::tcp};
  if (options.processes || what.wants_any_process()) {
    asked.is_remote = [&](stage_address at) {
      return options.processes || what.wants_process(plan->nodes[at.stage].name);
    };
  }
  return ensure_room(room_of_run(*plan, asked));
}

}  // namespace troupe
