// Stages in worker processes against stages in one process; docs/benchmarks.md says what is measured and how.
//
//   process_bench [--rounds N] [--seconds-per-measurement S] [--only MODEL]... [--json FILE]   markdown on stdout
//   process_bench --compare efficiency ...                                     one group of comparisons
//   process_bench --quick                                                      to see that it runs
#include <fstream>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <troupe/actors/program.hpp>
#include <troupe/runtime/engine/allocator.hpp>

#include "../environment.hpp"
#include "../machine.hpp"
#include "process_report.hpp"
#include "process_worker.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

struct request {
  std::vector<std::string> models = {};
  std::vector<std::string> groups = {};
  std::uint64_t micro_batch = 0;
  bool first_size_only = false;
  round_options rounds;
};

expected<std::vector<measured_processes>> measure_all(const request& asked) {
  std::vector<measured_processes> rows;
  for (const std::string& model : asked.models) {
    auto works = make_workloads(model);
    if (!works) return tl::make_unexpected(works.error());
    if (asked.first_size_only) works->resize(1);
    for (const workload& work : *works) {
      if (asked.micro_batch != 0 && work.micro_batch != asked.micro_batch) continue;
      auto row = measure_pairs(work, asked.rounds, asked.groups);
      if (!row) return tl::make_unexpected(row.error());
      fmt::print(stderr, "{}", comparison_table({*row}));
      rows.push_back(std::move(*row));
    }
  }
  return rows;
}

/// 0, or 1 where a variant failed or gave other results than the plain loop.
int run(const request& asked, const std::string& file) {
  const double load_before = load_average();
  const auto rows = measure_all(asked);
  if (!rows) {
    fmt::print(stderr, "process_bench: {}\n", to_string(rows.error()));
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
  if (const auto* worker = program::worker()) serve_case(*worker);
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
  app.add_option("--compare", asked.groups, "Only these comparisons; may be repeated")
      ->check(CLI::IsMember(comparison_groups()));
  app.add_flag("--quick", quick, "One short round of one small model");
  CLI11_PARSE(app, argc, argv);
  if (asked.models.empty()) asked.models = model_names();
  if (asked.groups.empty()) asked.groups = comparison_groups();
  if (quick) {
    asked.models = {"mlp256"};
    asked.first_size_only = true;
    asked.rounds = {.rounds = 2, .seconds = 0.02};
  }
  keep_freed_memory();
  try {
    return run(asked, file);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "process_bench: {}\n", caught.what());
    return 1;
  }
}
