// Stages in worker processes against stages in one process; docs/benchmarks.md describes the measurements.
//
//   process_bench [--rounds N] [--seconds-per-measurement S] [--only MODEL]... [--json FILE]   markdown on stdout
//   process_bench --compare efficiency ...                                     one group of comparisons
//   process_bench --comparison 'heartbeats' ...                                one comparison, by its name
//   process_bench --thread-times '2 stages, processes' ...                      where the processor's time goes
//   process_bench --quick                                                      to see that it runs
#include <algorithm>
#include <fstream>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../environment.hpp"
#include "../machine.hpp"
#include "contestants.hpp"
#include "messages/try.hpp"
#include "process_report.hpp"
#include "process_worker.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/process/worker_environment.hpp"
#include "thread_times.hpp"
#include <troupe/program.hpp>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct request {
  std::vector<std::string> models = {};
  comparison_choice chosen = {};
  std::string thread_times_of = {};
  std::uint64_t micro_batch = 0;
  bool first_size_only = false;
  round_options rounds;
};

expected<std::vector<measured_processes>> measure_all(const request& asked) {
  std::vector<measured_processes> rows;
  for (const std::string& model : asked.models) {
    auto works = TROUPE_TRY(make_workloads(model));
    if (asked.first_size_only) works.erase(works.begin() + 1, works.end());
    for (const workload& work : works) {
      if (asked.micro_batch != 0 && work.micro_batch != asked.micro_batch) continue;
      auto row = TROUPE_TRY(measure_pairs(work, asked.rounds, asked.chosen));
      fmt::print(stderr, "{}", comparison_table({row}));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

int show_thread_times(const request& asked) {
  for (const std::string& model : asked.models) {
    auto works = make_workloads(model);
    for (std::size_t k = 0; works && k < works->size(); ++k) {
      const workload& work = (*works)[k];
      if (asked.micro_batch != 0 && work.micro_batch != asked.micro_batch) continue;
      const auto table = thread_time_table(work, asked.thread_times_of, asked.rounds);
      if (!table) works = tl::make_unexpected(table.error());
      if (table) fmt::print("{}\n", *table);
    }
    if (works) continue;
    fmt::print(stderr, "process_bench: {}\n", to_string(works.error()));
    return 1;
  }
  return 0;
}

/// 0, or 1 where a variant failed or gave other results than the plain loop.
int run(const request& asked, const std::string& file) {
  const double load_before = load_average();
  const auto rows = measure_all(asked);
  if (!rows) {
    fmt::print(stderr, "process_bench: {}\n", to_string(rows.error()));
    return 1;
  }
  if (std::ranges::all_of(*rows, [](const measured_processes& row) { return row.comparisons.empty(); })) {
    fmt::print(stderr, "process_bench: nothing to measure: no such --micro-batch of the model, or --comparison\n");
    return 1;
  }
  fmt::print("{}\nload average before {:.1f}, after {:.1f}\n", comparison_table(*rows), load_before, load_average());
  nlohmann::ordered_json json{{"environment", environment_json()},
                              {"load_average_before", load_before},
                              {"seconds_per_measurement", asked.rounds.seconds}};
  bool equal = true;
  for (const measured_processes& row : *rows) {
    json["rows"].push_back(processes_json(row));
    for (const std::string& name : row.different) {
      fmt::print(stderr, "{}, {}: other metrics than the plain loop's\n", row.model, name);
      equal = false;
    }
  }
  if (!file.empty()) std::ofstream(file) << json.dump(2) << '\n';
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const program this_program{argc, argv};
  at::set_num_threads(1);
  if (program::worker() != nullptr) serve_case();
  CLI::App app("Stages in processes and in one. Start it in the source tree, or set TROUPE_SOURCE_DIR.");
  request asked{.rounds = {.rounds = 8, .seconds = 0.25}};
  std::string file;
  bool quick = false;
  app.add_option("--rounds", asked.rounds.rounds, "Rounds of all comparisons; the first is discarded")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--seconds-per-measurement", asked.rounds.seconds, "How long the plain loop runs each time")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  app.add_option("--only", asked.models, "Only this model; may be repeated")->check(CLI::IsMember(model_names()));
  app.add_option("--micro-batch", asked.micro_batch, "Only this size");
  app.add_option("--json", file, "Write every round to this file");
  app.add_option("--compare", asked.chosen.groups, "Only this group of comparisons; may be repeated")
      ->check(CLI::IsMember(comparison_groups()));
  app.add_option("--comparison", asked.chosen.names, "Only the comparison of this name; may be repeated");
  app.add_option("--thread-times", asked.thread_times_of, "Instead: each thread's time while this variant runs")
      ->check(CLI::IsMember({variant::one_process, variant::processes, variant::processes_quiet,
                             variant::processes_journal, variant::processes_tcp}));
  app.add_flag("--quick", quick, "One short round of one small model");
  CLI11_PARSE(app, argc, argv);
  if (asked.models.empty()) asked.models = model_names();
  if (asked.chosen.groups.empty()) asked.chosen.groups = comparison_groups();
  if (quick) {
    asked.models = {"mlp256"};
    asked.first_size_only = true;
    asked.rounds = {.rounds = 2, .seconds = 0.02};
  }
  keep_freed_memory();
  try {
    return asked.thread_times_of.empty() ? run(asked, file) : show_thread_times(asked);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "process_bench: {}\n", caught.what());
    return 1;
  }
}
