#include "process_worker.hpp"

#include <cstdlib>
#include <sstream>

#include <fmt/format.h>

#include "../pipeline_variant.hpp"
#include "../workload.hpp"
#include "actors/workers/worker_actor.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/topology_worker.hpp"

namespace troupe::bench {
namespace {

constexpr const char* variable = "TROUPE_BENCH_CASE";
/// Heartbeats follow the time-out: the next one is hours away.
constexpr std::chrono::hours no_timeout{24};

std::chrono::milliseconds timeout_of(const worker_case& which) {
  return which.heartbeats ? limits::worker_silence_timeout : no_timeout;
}

std::string text_of(const worker_case& which) {
  return fmt::format("{} {} {} {}", which.model, which.stages, static_cast<int>(which.heartbeats),
                     static_cast<int>(which.over));
}

worker_case announced() {
  const char* const text = std::getenv(variable);
  std::istringstream in(text == nullptr ? "" : text);
  worker_case found;
  int over = 0;
  in >> found.model >> found.stages >> found.heartbeats >> over;
  found.over = static_cast<worker_case::edges>(over);
  return found;
}

/// As workload has them.
std::vector<std::string> metrics_of(const std::string& model) {
  if (model == "lenet") return {"accuracy", "nll"};
  if (model == "resnet20") return {"accuracy", "cross_entropy"};
  return {"accuracy"};
}
std::string partition_of(const std::string& model) {
  return model == "lenet" || model == "resnet20" ? "profile" : "uniform";
}

}  // namespace

void announce(const worker_case& which) {
  ::setenv(variable, text_of(which).c_str(), 1);
}

worker_options options_of(const worker_case& which) {
  return {.enabled = true,
          .transport = which.over == worker_case::edges::shm ? transport_kind::automatic : transport_kind::tcp,
          .timeout = timeout_of(which),
          .checksums = which.over == worker_case::edges::tcp};
}

void serve_case() {
  const worker_case which = announced();
  const auto network = make_model(make_bench_module(which.model), which.model);
  if (!network) end_worker(network.error());
  serve_topology(bench_topology(*network, nullptr, metrics_of(which.model), partition_of(which.model), which.stages, 1),
                 {.workers = options_of(which)}, process_context::of_this_process());
}

}  // namespace troupe::bench
