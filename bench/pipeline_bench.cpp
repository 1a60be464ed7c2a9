// Pipelines against plain LibTorch loops, interleaved in one run; docs/benchmarks.md describes the measurements.
//
//   pipeline_bench [--rounds N] [--seconds-per-measurement S] [--only MODEL]...     JSON on stdout, a table on stderr
#include <chrono>
#include <exception>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "environment.hpp"
#include "machine.hpp"
#include "messages/try.hpp"
#include "ratios.hpp"
#include "runtime/os/allocator.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

expected<std::vector<bench_row>> measure_all(const std::vector<std::string>& models, const round_options& options) {
  std::vector<bench_row> rows;
  for (const std::string& model : models) {
    const auto workloads = TROUPE_TRY(make_workloads(model));
    for (const workload& work : workloads) {
      const auto measured = TROUPE_TRY(measure(work, options));
      rows.push_back(make_row(work, measured));
      fmt::print(stderr, "{}, micro-batch {}: done\n", work.model, work.micro_batch);
    }
  }
  return rows;
}

/// 0, or 1 where a variant failed or gave other results than the plain loop. Missed targets are no failure.
int run_rows(const std::vector<std::string>& models, const round_options& options) {
  const auto start = std::chrono::steady_clock::now();
  const double load_before = load_average();
  const auto rows = measure_all(models, options);
  if (!rows) {
    fmt::print(stderr, "{}\n", to_string(rows.error()));
    return 1;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  nlohmann::ordered_json json{{"environment", environment_json()},
                              {"rounds", options.rounds},
                              {"rounds_discarded", 1},
                              {"seconds_per_measurement", options.seconds},
                              {"load_average_before", load_before},
                              {"wall_seconds", taken.count()},
                              {"rows", nlohmann::ordered_json::array()}};
  bool equal = true;
  for (const bench_row& row : *rows) {
    json["rows"].push_back(row_json(row));
    equal = equal && row.different.empty();
  }
  fmt::print("{}\n", json.dump(2));
  fmt::print(stderr, "\n{}\nload average before the start: {:.2f}\n", rows_table(*rows), load_before);
  return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Pipelines against plain LibTorch loops. Start it in the source tree, or set TROUPE_SOURCE_DIR.");
  round_options options;
  std::vector<std::string> models;
  app.add_option("--rounds", options.rounds, "Rounds of all variants; the first is discarded")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--seconds-per-measurement", options.seconds, "How long the plain loop runs each time")
      ->check(CLI::Range(0.01, 60.0))
      ->capture_default_str();
  app.add_option("--only", models, "Only this model; may be repeated")->check(CLI::IsMember(model_names()));
  CLI11_PARSE(app, argc, argv);
  keep_freed_memory();
  at::set_num_threads(1);  // before anything computes, so that this thread never has an OpenMP team
  try {
    return run_rows(models.empty() ? model_names() : models, options);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "pipeline_bench: {}\n", caught.what());
    return 1;
  }
}
