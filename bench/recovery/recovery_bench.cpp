// How long a run is without results when a worker process is killed; docs/benchmarks.md describes the measurements.
//
//   recovery_bench [--kills N] [--only MODEL]... [--json FILE]     markdown tables on stdout
//   recovery_bench --quick                                         two kills of one model: to see that it runs
#include <algorithm>
#include <chrono>
#include <fstream>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../environment.hpp"
#include "../machine.hpp"
#include "messages/try.hpp"
#include "recovery_report.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/process/worker_environment.hpp"
#include <troupe/program.hpp>

namespace {

using namespace troupe;
using namespace troupe::bench;

/// Of one stage; a run gives a stage up that dies 20 times within a minute. A spare that is killed together with the
/// stage may just have become its next incarnation, and then its death is another one of the stage's.
std::uint32_t deaths_per_run(const recovery_case& which) {
  return which.cold ? 7 : 14;
}

struct effort {
  std::uint32_t kills = 60;
  /// Fewer kills where this time is over; a busy machine takes long to start spares.
  std::uint32_t seconds = 600;
};

expected<recovery_row> measure(const recovery_case& which, const effort& at_most) {
  recovery_row row{which, {}};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{at_most.seconds};
  const auto goes_on = [&] {
    return row.kills.empty() || (row.kills.size() < at_most.kills && std::chrono::steady_clock::now() < limit);
  };
  while (goes_on()) {
    auto run = TROUPE_TRY(killing_run::start(which, static_cast<std::uint32_t>(row.kills.size())));
    for (std::uint32_t i = 0; i < deaths_per_run(which) * which.stages && goes_on(); ++i) {
      const auto times = TROUPE_TRY(run->kill(i % which.stages));
      row.kills.push_back(times);
    }
  }
  return row;
}

/// What to measure; empty: everything.
struct selection {
  std::vector<std::string> models;
  std::vector<std::uint32_t> stages;
  std::string spare;
  bool quick = false;
};

template <class Value>
bool is_chosen(const std::vector<Value>& among, const Value& one) {
  return among.empty() || std::ranges::find(among, one) != among.end();
}

std::vector<recovery_case> cases(const selection& of) {
  if (of.quick) return {{.model = "lenet", .stages = 2}, {.model = "lenet", .stages = 2, .cold = true}};
  std::vector<recovery_case> chosen;
  for (recovery_case one : {recovery_case{"lenet", 64, 2}, recovery_case{"resnet20", 8, 2},
                            recovery_case{"lenet", 64, 3}, recovery_case{"resnet20", 8, 3}}) {
    if (!is_chosen(of.models, one.model) || !is_chosen(of.stages, one.stages)) continue;
    if (of.spare != "none") chosen.push_back(one);
    one.cold = true;
    if (of.spare != "warm") chosen.push_back(one);
  }
  return chosen;
}

int run(const std::vector<recovery_case>& chosen, const effort& at_most, const std::string& file) {
  const double load_before = load_average();
  std::vector<recovery_row> rows;
  for (const recovery_case& one : chosen) {
    const auto row = measure(one, at_most);
    if (!row) {
      fmt::print(stderr, "recovery_bench: {}\n", to_string(row.error()));
      return 1;
    }
    rows.push_back(*row);
    fmt::print(stderr, "{}{}", recovery_table({*row}), steps_table({*row}));
  }
  fmt::print("{}\n{}\nload average before {:.1f}, after {:.1f}\n", recovery_table(rows), steps_table(rows), load_before,
             load_average());
  if (file.empty()) return 0;
  nlohmann::ordered_json json{{"environment", environment_json()}, {"load_average_before", load_before}};
  for (const recovery_row& row : rows) json["rows"].push_back(recovery_json(row));
  std::ofstream(file) << json.dump(2) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const program this_program{argc, argv};
  if (program::worker() != nullptr) serve_recovery_case();
  CLI::App app(
      "Time to recover from the loss of a worker process. Start it in the source tree, or set TROUPE_SOURCE_DIR.");
  effort at_most;
  selection chosen;
  std::string file;
  app.add_option("--kills", at_most.kills, "Per case")->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--seconds", at_most.seconds, "At most, per case")->capture_default_str();
  app.add_option("--only", chosen.models, "Only this model; may be repeated")
      ->check(CLI::IsMember({"lenet", "resnet20"}));
  app.add_option("--stages", chosen.stages, "Only so many; may be repeated");
  app.add_option("--spare", chosen.spare, "Only with a spare, or only without")->check(CLI::IsMember({"warm", "none"}));
  app.add_option("--json", file, "Write every kill to this file");
  app.add_flag("--quick", chosen.quick, "Two kills of LeNet, with a spare and without");
  CLI11_PARSE(app, argc, argv);
  if (chosen.quick) at_most.kills = 2;
  keep_freed_memory();
  at::set_num_threads(1);
  try {
    return run(cases(chosen), at_most, file);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "recovery_bench: {}\n", caught.what());
    return 1;
  }
}
