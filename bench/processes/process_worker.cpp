#include "process_worker.hpp"

#include <cstdlib>
#include <sstream>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "../workload.hpp"
#include "actors/workers/worker_face.hpp"
#include "program/cut_model.hpp"
#include "program/model_worker.hpp"
#include "runtime/engine/allocator.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

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

expected<std::shared_ptr<stage_body>> make_part(const worker_case& which, const worker_assignment& to,
                                                const payload_ptr& warm_up) {
  auto chain = make_bench_chain(which.model);
  if (!chain) return tl::make_unexpected(chain.error());
  const at::Tensor input = warm_up ? as_tensors(warm_up).single() : at::Tensor();
  return cut_again(std::move(*chain), {.stages = which.stages, .threads = to.threads},
                   {to.boundaries.begin(), to.boundaries.end()}, to.address.stage, input)
      .and_then([&](const cut_model& model) { return model.make_body(to.address.stage, to.address.stage); });
}

/// As workload has them.
std::vector<std::string> metrics_of(const std::string& model) {
  if (model == "lenet") return {"accuracy", "nll"};
  if (model == "resnet20") return {"accuracy", "cross_entropy"};
  return {"accuracy"};
}

}  // namespace

void announce(const worker_case& which) {
  ::setenv(variable, text_of(which).c_str(), 1);
}

worker_options options_of(const worker_case& which, std::uint32_t classes) {
  return {.silence_timeout = timeout_of(which),
          .tcp_edges = which.over != worker_case::edges::shm,
          .payload_crc = which.over == worker_case::edges::tcp,
          .classes = classes,
          .settings = text_of(which)};
}

void serve_case(const worker_environment& environment) {
  const worker_case which = announced();
  auto plan = plan_of_chain(which.stages, 1, std::nullopt);
  if (!plan) end_worker(plan.error());
  keep_freed_memory();
  const std::uint64_t fingerprint = plan_fingerprint(*plan, text_of(which));
  serve_worker(environment,
               {.plan = std::move(*plan),
                .fingerprint = [fingerprint] { return fingerprint; },
                .codec = std::make_shared<tensor_codec>(),
                .tcp_edges = which.over != worker_case::edges::shm,
                .payload_crc = which.over == worker_case::edges::tcp,
                .silence_timeout = timeout_of(which),
                .make_body =
                    [&](const worker_assignment& to, const payload_ptr& warm_up) {
                      return in_making_thread(which.model, [&] { return make_part(which, to, warm_up); });
                    },
                .make_scorer = [&](std::uint32_t, std::uint32_t classes) -> expected<std::shared_ptr<scorer>> {
                  auto metrics = make_metrics(metrics_of(which.model), classes);
                  if (!metrics) return tl::make_unexpected(metrics.error());
                  return std::make_shared<metric_scorer>(std::move(*metrics), false, std::string());
                }});
}

}  // namespace troupe::bench
