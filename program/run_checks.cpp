#include "program/run_checks.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "actors/workers/room_of.hpp"
#include "messages/limits.hpp"
#include "program/eval_topology.hpp"
#include "program/topology_parts.hpp"
#include "runtime/config/resolve.hpp"
#include <troupe/program.hpp>

namespace troupe {
namespace {

tl::unexpected<error> out_of_range(std::string where, std::string cause) {
  return fail(error_code::value_out_of_range, std::move(where), std::move(cause), "choose another value");
}

expected<void> check_count(const char* name, std::uint64_t value, std::uint64_t most) {
  if (value >= 1 && value <= most) return {};
  return out_of_range(name, "it is " + std::to_string(value) + ", allowed are 1 to " + std::to_string(most));
}

expected<void> check_time(const char* name, const std::optional<double>& seconds, double least) {
  if (!seconds || (*seconds >= least && *seconds <= limits::deadline_seconds_max)) return {};
  return out_of_range(name, "it is " + std::to_string(*seconds) + " s");
}

expected<void> check_processes(const eval_options& config) {
  if (config.processes && !program::exists()) {
    return fail(error_code::flags_contradict, "processes", "workers of this program would not know what they are",
                "make a troupe::program at the start of main()");
  }
  if (const auto found = find_contradiction(config)) {
    return fail(error_code::flags_contradict, found->option, found->cause, found->fix);
  }
  return {};
}

/// Of the stages that say how many they want.
std::uint32_t most_threads(const topology& what) {
  std::uint32_t most = 1;
  for (const auto& [name, content] : what.parts().contents) {
    if (const auto* stage = std::get_if<stage_node>(&content)) {
      most = std::max(most, stage->options.threads.value_or(1));
    }
  }
  for (const auto& [name, pipeline] : what.parts().pipelines)
    most = std::max(most, pipeline.options.threads.value_or(1));
  return most;
}

}  // namespace

expected<void> check_run(const topology& what, const run_options& options) {
  const eval_options config = config_of(what, options);
  return check_count("micro_batch", config.micro_batch, limits::micro_batch_max)
      .and_then([&] { return check_count("threads", config.threads.value_or(1), limits::threads_max); })
      .and_then([&]() -> expected<void> {
        if (config.limit && *config.limit == 0) return out_of_range("limit", "no sample would be evaluated");
        return {};
      })
      .and_then([&] { return check_time("deadline", config.deadline, limits::deadline_seconds_min); })
      .and_then([&] { return check_time("forward_deadline", config.forward_deadline, limits::deadline_seconds_min); })
      .and_then([&] { return check_time("worker_timeout", config.worker_timeout, limits::worker_timeout_min); })
      .and_then([&] { return check_time("start_deadline", config.start_deadline, limits::worker_timeout_min); })
      .and_then([&] { return check_processes(config); })
      .and_then([&] { return what.check(); });
}

expected<void> check_room(const topology& what, const run_options& options, std::uint32_t threads) {
  const auto plan = expand(what.parts().graph());
  if (!plan) return {};
  room_options asked{.threads = std::max(threads, most_threads(what)),
                     .is_remote = nullptr,
                     .tcp_edges = options.workers.transport == transport_kind::tcp};
  if (options.workers.enabled || what.parts().wants_any_process()) {
    asked.is_remote = [&](stage_address at) {
      return options.workers.enabled || what.parts().wants_process(plan->nodes[at.stage].name);
    };
  }
  return ensure_room(room_of_run(*plan, asked));
}

}  // namespace troupe
