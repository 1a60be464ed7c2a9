#include "recovery_case.hpp"

#include <cstdlib>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "actors/workers/worker_actor.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/topology_worker.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/flow/stage_body.hpp"
#include "tests/support/paths.hpp"
#include "worker_steps.hpp"

namespace troupe::bench {
namespace {

constexpr const char* variable = "TROUPE_BENCH_CASE";

recovery_case announced() {
  const char* const text = std::getenv(variable);
  recovery_case found;
  std::istringstream in(text == nullptr ? "" : text);
  in >> found.model >> found.micro_batch >> found.stages;
  return found;
}

}  // namespace

eval_options options_of(const recovery_case& which) {
  const auto data = testing::data_dir();
  eval_options options;
  options.stages = which.stages;
  options.run.micro_batch = which.micro_batch;
  options.run.threads = 1;
  options.partition = "profile";
  options.run.workers.enabled = true;
  if (which.model == "lenet") {
    options.model = data / "mnist/lenet.pt";
    options.data = "mnist:" + (data / "mnist").string();
    options.metrics = {"accuracy", "nll"};
  } else {
    options.model = data / "cifar10/resnet20.pt";
    options.data = "cifar10:" + (data / "cifar10/test_batch_1000.bin").string();
    options.metrics = {"accuracy", "cross_entropy"};
  }
  return options;
}

void announce(const recovery_case& which) {
  const std::string text = fmt::format("{} {} {}", which.model, which.micro_batch, which.stages);
  ::setenv(variable, text.c_str(), 1);
}

void serve_recovery_case() {
  const process_context& process = process_context::of_this_process();
  const eval_options options = options_of(announced());
  auto run = checked_run::make(topology_of(options), options.run, process);
  if (!run) end_worker(run.error());
  worker_description description = describe_worker(std::move(*run));
  description.make_body = [make = std::move(description.make_body)](const worker_assignment& to,
                                                                    const assigned_memory& given) {
    const auto begin = steady_now();
    auto body = make(to, given);
    say_step("made", to.address.stage, begin);
    return body.map([&](engine_body made) -> engine_body {
      return with_steps(std::get<std::shared_ptr<stage_body>>(std::move(made)), to.address.stage);
    });
  };
  serve_worker(*process.worker, std::move(description));
}

}  // namespace troupe::bench
