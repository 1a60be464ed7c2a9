#include "program/serve_probe.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <utility>

#include "actors/workers/worker_face.hpp"
#include "program/journal_pins.hpp"
#include "program/model_pipeline.hpp"
#include "program/model_worker.hpp"
#include "program/prepared_run.hpp"
#include "program/run_checks.hpp"
#include "program/topology_start.hpp"
#include "program/topology_worker.hpp"
#include "runtime/data/data_set.hpp"
#include "runtime/engine/allocator.hpp"
#include "runtime/engine/engine_thread.hpp"
#include "runtime/process/probe_environment.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

expected<probe_report> caught(const std::function<expected<probe_report>(const probe_note&)>& probe,
                              const probe_note& note) try {
  return probe(note);
} catch (const std::exception& e) {
  return fail(error_code::internal, "try-out", e.what(), "report this with the model");
} catch (...) {
  return fail(error_code::internal, "try-out", "something threw what is no exception",
              "throw exceptions that derive from std::exception");
}

expected<probe_report> probe_model(const eval_options& options, const probe_note& note) {
  auto plan = plan_of_chain(options.stages, options.replicas, options.num_pipe_buffers);
  if (!plan) return tl::make_unexpected(plan.error());
  probe_report made{.fingerprint = plan_fingerprint(*plan, settings_of(options)), .cuts = {}};
  auto data = open_data(options.data);
  if (!data) return tl::make_unexpected(data.error());
  const std::uint64_t asked = std::min((*data)->size(), options.limit.value_or((*data)->size()));
  const auto sample = read_samples(**data, {0, std::min(options.micro_batch, asked)});
  if (!sample) return tl::make_unexpected(sample.error());

  note(options.model);
  auto chain = load_chain(options.model, {.allow_effects = options.allow_effects});
  if (!chain) return tl::make_unexpected(chain.error());
  const cut_request request{.stages = options.stages,
                            .threads = threads_of(options, usable_cores()),
                            .optimize = options.optimize,
                            .partition = options.partition};
  const auto input = single_input(*sample, options.model);
  if (!input) return tl::make_unexpected(input.error());
  const auto model = cut(*chain, request, *input);
  if (!model) return tl::make_unexpected(model.error());
  made.cuts.push_back(report_of(*model, {}));
  made.between_bytes = model->activation_bytes;
  return made;
}

expected<probe_report> probe_topology(const topology& what, const run_options& options, const probe_note& note) {
  if (auto fine = what.check(); !fine) return tl::make_unexpected(fine.error());
  auto data = open_choice(*what.data());
  if (!data) return tl::make_unexpected(data.error());
  const std::uint64_t asked = std::min((*data)->size(), options.limit.value_or((*data)->size()));
  const auto first = read_samples(**data, {0, std::min(options.micro_batch, asked)});
  if (!first) return tl::make_unexpected(first.error());
  return try_topology(what, options.threads.value_or(threads_for(what.graph())), (*data)->classes(), *first, note);
}

}  // namespace

void serve_probe(const std::function<expected<probe_report>(const probe_note& note)>& probe) {
  keep_freed_memory();
  const probe_file file(unique_fd{probe_report_number});
  const auto report = caught(probe, [&](const std::string& place) { file.note(place); });
  if (auto written = file.write(report); !written) {
    // What a report cannot say for its size, a short one can.
    const expected<probe_report> shorter = tl::make_unexpected(written.error());
    if (!file.write(shorter)) end_worker(written.error());
  }
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(0);
}

void serve_model_probe(const eval_options& options) {
  serve_probe([&](const probe_note& note) { return probe_model(options, note); });
}

void serve_topology_probe(const topology& what, const run_options& options) {
  serve_probe([&](const probe_note& note) { return probe_topology(what, options, note); });
}

}  // namespace troupe
