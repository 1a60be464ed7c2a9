#include "pipeline_variant.hpp"

#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/run/evaluation.hpp"
#include "program/start/topology_start.hpp"

namespace troupe::bench {

topology bench_topology(const model& network, const data_set_ptr& data, const std::vector<std::string>& metrics,
                        const std::string& partition, std::uint32_t stages, std::uint32_t replicas) {
  return topology{}
      .source("loader", data)
      .pipeline("stage", network, {.stages = stages, .replicas = replicas, .partition = partition})
      .sink("metrics", {metrics.begin(), metrics.end()});
}

expected<pipeline_variant> pipeline_variant::start(const workload& work, pipeline_shape shape) {
  auto sample = TROUPE_TRY(work.data->read({0, work.micro_batch}));
  const topology what = bench_topology(work.network, work.data, work.metric_names,
                                       shape.stages == 1 ? "uniform" : work.partition, shape.stages, shape.replicas);
  const auto checked = TROUPE_TRY(checked_run::make(what, {.threads = shape.threads, .workers = shape.workers},
                                                    process_context::of_this_process()));
  auto stages = TROUPE_TRY(start_topology(checked, {.classes = work.data->classes()}, sample));
  pipeline_variant made;
  made.stages_ = std::move(stages);
  return made;
}

expected<measurement> pipeline_variant::run(const workload& work, std::uint64_t micro_batches,
                                            const std::shared_ptr<journal_writer>& journal) {
  running_topology& running = *stages_.running;
  const auto call = [&](std::uint64_t count, const std::shared_ptr<journal_writer>& kept) -> expected<run_result> {
    const auto made = TROUPE_TRY(evaluation::make({work.data,
                                                   work.micro_batch,
                                                   count * work.micro_batch,
                                                   {sink_request{.name = "metrics", .metrics = work.metrics}}}));
    evaluation& one = *made;
    if (kept) one.append_to(kept);
    const call_outcome outcome = running.submit(one.ticket()).get();
    if (outcome.cause) return tl::make_unexpected(*outcome.cause);
    return one.result(outcome);
  };
  TROUPE_TRY(call(warm_up_of(micro_batches), nullptr));
  const auto before = running.engines().accounts->usage();
  auto result = TROUPE_TRY(call(micro_batches, journal));
  const auto after = running.engines().accounts->usage();
  measurement taken{
      std::chrono::duration<double, std::micro>(result.wall_time).count() / static_cast<double>(micro_batches),
      std::move(result.metrics),
      {}};
  for (std::size_t stage = 0; stage < before.size(); ++stage) {
    const auto done =
        static_cast<double>(std::max<std::uint64_t>(1, after[stage].micro_batches - before[stage].micro_batches));
    taken.stage_us.push_back(static_cast<double>(after[stage].busy_ns - before[stage].busy_ns) / 1e3 / done);
  }
  return taken;
}

std::vector<std::size_t> pipeline_variant::boundaries() const {
  std::vector<std::size_t> boundaries = {0};
  for (const auto& layers : stages_.layers) {
    if (!layers.empty())
      boundaries.push_back(boundaries.back() + layers.size());  // a stage that is no part of a model has none
  }
  return boundaries;
}

}  // namespace troupe::bench
