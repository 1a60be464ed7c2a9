#include "tests/program/support/doors.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <torch/nn/modules/linear.h>

#include "program/models/layered_model.hpp"
#include "runtime/data/cast_names.hpp"

namespace troupe::testing {
namespace {

const std::string lenet = data_dir() / "mnist/lenet.pt";

using stopper = std::function<void(stop_kind)>;

/// Reports, and stops at the first of them if that is asked for.
evaluation_hooks hooks_of(const request& asked, const std::shared_ptr<stopper>& stop) {
  evaluation_hooks hooks = asked.hooks;
  if (asked.stop) hooks.on_progress = [stop, kind = *asked.stop](const progress_update&) { (*stop)(kind); };
  return hooks;
}

expected<run_result> run_evaluator(expected<std::unique_ptr<evaluator>> made, const std::shared_ptr<stopper>& stop) {
  if (!made) return tl::make_unexpected(made.error());
  *stop = [&made](stop_kind kind) { (*made)->request_stop(kind); };
  return (*made)->run();
}

expected<run_result> by_options(const request& asked) {
  eval_options options;
  options.model = lenet;
  options.stages = 2;
  options.partition = asked.partition;
  options.run = asked.run;
  if (asked.dtype) options.dtype = cast_name_of(*asked.dtype);
  eval_objects objects{.sinks = asked.sinks};
  if (const auto* name = std::get_if<std::string>(&asked.data)) options.data = *name;
  if (const auto* data = std::get_if<data_set_ptr>(&asked.data)) objects.data = *data;
  options.metrics.clear();
  for (const metric_choice& each : asked.metrics) {
    if (const auto* name = std::get_if<std::string>(&each)) options.metrics.push_back(*name);
    if (const auto* own = std::get_if<metric_ptr>(&each)) objects.metrics.push_back(*own);
  }
  const auto stop = std::make_shared<stopper>();
  return run_evaluator(evaluator::create(options, hooks_of(asked, stop), objects), stop);
}

expected<run_result> by_topology(const request& asked) {
  topology what;
  what.source("digits", asked.data)
      .pipeline("lenet", lenet, {.stages = 2, .partition = asked.partition, .dtype = asked.dtype})
      .sink("metrics", asked.metrics);
  for (const eval_sink& each : asked.sinks) what.sink(each.name, each.metrics, each.options);
  const auto stop = std::make_shared<stopper>();
  return run_evaluator(evaluator::create(what, asked.run, hooks_of(asked, stop)), stop);
}

at::Tensor sample_of(const data_choice& data) {
  const auto* own = std::get_if<data_set_ptr>(&data);
  return (own != nullptr ? *own : *open_data(std::get<std::string>(data)))->read({0, 50})->inputs.only();
}

pipeline_engine_options engine_options(const request& asked) {
  return {.stages = 2,
          .run = asked.run,
          .partition = asked.partition,
          .dtype = asked.dtype,
          .sample = sample_of(asked.data),
          .metrics = asked.metrics,
          .sinks = asked.sinks};
}

expected<run_result> run_engine(expected<std::unique_ptr<pipeline_engine>> made, const request& asked) {
  if (!made) return tl::make_unexpected(made.error());
  const auto stop = std::make_shared<stopper>([&made](stop_kind kind) { (*made)->request_stop(kind); });
  auto result = (*made)->evaluate(asked.data, hooks_of(asked, stop));
  auto trace = (*made)->finish();
  if (result && trace) result->trace = std::move(*trace);
  return result;
}

expected<run_result> by_engine(const request& asked) {
  return run_engine(pipeline_engine::create(lenet, engine_options(asked), nullptr), asked);
}

torch::nn::Linear linear(std::int64_t in, std::int64_t out) {
  torch::manual_seed(in);
  return torch::nn::Linear(in, out);
}

expected<run_result> by_module(const request& asked) {
  pipeline_module module = layers();
  module.partition_method = asked.partition;
  pipeline_engine_options options = engine_options(asked);
  options.partition = std::nullopt;
  return run_engine(pipeline_engine::create(module, std::move(options)), asked);
}

}  // namespace

pipeline_module layers() {
  return {.layers = {layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
                     layer_spec("Linear", [] { return linear(784, 30); }),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return at::relu(x); }),
                     layer_spec("Linear", [] { return linear(30, 10); })},
          .num_stages = 2};
}

const std::vector<door>& doors() {
  static const std::size_t lenet_layers =
      layered_model(load_model(lenet)->graph(), layer_unit::modules).layers().size();
  static const std::vector<door> all = {{"options", by_options, lenet_layers},
                                        {"topology", by_topology, lenet_layers},
                                        {"engine", by_engine, lenet_layers},
                                        {"module", by_module, 4}};
  return all;
}

}  // namespace troupe::testing
