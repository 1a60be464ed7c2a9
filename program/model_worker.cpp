#include "program/model_worker.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/cut_model.hpp"
#include "program/model_pipeline.hpp"
#include "program/spare_models.hpp"
#include "runtime/engine/allocator.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

expected<std::shared_ptr<stage_body>> make_part(const eval_options& options, spare_models& spare,
                                                const worker_assignment& to, const payload_ptr& warm_up) {
  auto prepared = spare.take(options.model);
  const bool is_prepared = prepared.has_value();
  auto chain = is_prepared ? expected<layer_chain>(std::move(*prepared))
                           : load_chain(options.model, {.allow_effects = options.allow_effects});
  if (!chain) return tl::make_unexpected(chain.error());
  const cut_request request{
      .stages = options.stages, .threads = to.threads, .optimize = options.optimize, .partition = options.partition};
  const auto input = warm_up_of(warm_up, to.incarnation > 0);
  if (!input) return tl::make_unexpected(input.error());
  return cut_again(std::move(*chain), request, {to.boundaries.begin(), to.boundaries.end()}, to.address.stage, *input,
                   is_prepared)
      .and_then([&](const cut_model& model) { return model.make_body(to.address.stage, to.address.stage); });
}

}  // namespace

std::string stamp_of(const std::string& file) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  const auto time = std::filesystem::last_write_time(file, ignored).time_since_epoch().count();
  return fmt::format("{} {} {}", file, size, time);
}

std::string settings_of(const eval_options& options) {
  return fmt::format("{}\n{} {}\n{}", stamp_of(options.model), static_cast<int>(options.optimize), options.partition,
                     fmt::join(options.metrics, ","));
}

expected<std::vector<metric_ptr>> make_metrics(const std::vector<std::string>& names, std::uint32_t classes) {
  std::vector<metric_ptr> metrics;
  for (const std::string& name : names) {
    auto made = make_metric(name, classes);
    if (!made) return tl::make_unexpected(made.error());
    metrics.push_back(std::move(*made));
  }
  return metrics;
}

expected<std::shared_ptr<stage_body>> in_making_thread(
    const std::string& what, const std::function<expected<std::shared_ptr<stage_body>>()>& make) {
  expected<std::shared_ptr<stage_body>> made = fail(error_code::internal, what, "it was not made");
  auto maker = start_thread(what, [&] {
    try {
      made = make();
    } catch (const std::exception& e) {
      made = fail(error_code::internal, what, std::string("the stage could not be made: ") + e.what());
    } catch (...) {
      made = fail(error_code::internal, what, "the stage could not be made: something threw what is no exception",
                  "throw exceptions that derive from std::exception");
    }
  });
  if (!maker) return tl::make_unexpected(maker.error());
  maker->join();
  return made;
}

expected<worker_description> describe_worker(const eval_options& options) {
  auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  if (!plan) return tl::make_unexpected(plan.error());
  keep_freed_memory();
  const auto spare = std::make_shared<spare_models>();
  return worker_description{
      .plan = *plan,
      .fingerprint = [plan = *plan, options] { return plan_fingerprint(plan, settings_of(options)); },
      .codec = std::make_shared<tensor_codec>(),
      .tcp_edges = options.transport == transport_kind::tcp,
      .silence_timeout =
          std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.worker_timeout)),
      .prepare =
          [options, spare] {
            yield_to_stages();
            spare->prepare(options.model, options.model, [&] {
              return load_optimized(options.model, options.optimize, {.allow_effects = options.allow_effects});
            });
            if (spare->is_spare()) use_libtorch_once();
          },
      .make_body =
          [options, spare](const worker_assignment& to, const payload_ptr& warm_up) {
            return in_making_thread(options.model, [&] { return make_part(options, *spare, to, warm_up); });
          },
      .make_scorer = [options](std::uint32_t, std::uint32_t classes) -> expected<std::shared_ptr<scorer>> {
        auto metrics = make_metrics(options.metrics, classes);
        if (!metrics) return tl::make_unexpected(metrics.error());
        return std::make_shared<metric_scorer>(std::move(*metrics), false, std::string());
      }};
}

}  // namespace troupe
