// Hop latency and bandwidth of every edge between two processes, against plain ways to move bytes, interleaved in one
// run; docs/benchmarks.md describes the measurements.
//
//   transport_bench [--quick] [--json FILE] [--only LANE]... [--bytes N]... [--rounds N]
//                   [--seconds-per-measurement S] [--spin-us US]
#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "messages/limits.hpp"
#include "opened_lanes.hpp"
#include "transport_report.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds message_limit = 20s;
const std::vector<std::size_t> all_sizes = {64, 1u << 10, 16u << 10, 256u << 10, 4u << 20, 64u << 20};
const std::vector<std::size_t> quick_sizes = {64, 16u << 10, 256u << 10};

struct bench_options {
  transport_options measured;
  std::vector<std::string> only;
  std::string json_file;
  double spin_us = static_cast<double>(limits::spin_budget / 1us);

  /// In the order of the report, each once.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> wanted;
    std::ranges::copy_if(lane_names(), std::back_inserter(wanted), [&](const std::string& name) {
      return only.empty() || std::ranges::find(only, name) != only.end();
    });
    return wanted;
  }
  [[nodiscard]] std::chrono::nanoseconds spin() const {
    return std::chrono::nanoseconds(static_cast<std::int64_t>(spin_us * 1000));
  }
};

void run_driver(const bench_options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> names = options.names();
  nlohmann::ordered_json json{{"environment", transport_environment(options.spin_us)}};
  const opened_lanes opened(names, {options.spin(), message_limit, {}});
  const transport_results results = measure_transports(opened.lanes(), options.measured);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  json["rounds"] = options.measured.rounds;
  json["seconds_per_measurement"] = options.measured.seconds;
  json["wall_seconds"] = taken.count();
  json["rows"] = transport_json(names, results);
  fmt::print("{}- rounds: {}\n- wall_seconds: {:.0f}\n\n{}", environment_lines(json["environment"]),
             options.measured.rounds, taken.count(), transport_tables(names, results));
  if (options.json_file.empty()) return;
  std::ofstream out(options.json_file);
  out << json.dump(2) << '\n';
  if (!out.flush()) throw transport_failure("cannot write " + options.json_file);
}

/// The other process: its second argument is how long it spins.
void run_peer(const std::string& spin_ns) {
  dialogue driver(must(fd_channel::adopt(unique_fd(peer_socket), ::getppid())));
  serve(driver, {}, {std::chrono::nanoseconds(std::stoll(spin_ns)), message_limit, {}});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Hop latency and bandwidth of the edges between processes, against sockets, gloo and memcpy.");
  bench_options options;
  options.measured.sizes = all_sizes;
  bool quick = false;
  app.add_flag("--quick", quick, "Few small sizes, for moments only: to see that it runs");
  app.add_option("--json", options.json_file, "Write all figures to this file");
  app.add_option("--only", options.only, "Only this transport; may be repeated")->check(CLI::IsMember(lane_names()));
  app.add_option("--bytes", options.measured.sizes, "Messages of this size in place of all; may be repeated")
      ->check(CLI::Range(std::size_t{64}, all_sizes.back()));
  app.add_option("--rounds", options.measured.rounds, "Rounds of all transports")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds-per-measurement", options.measured.seconds, "About, of each transport, size and figure")
      ->check(CLI::Range(0.001, 60.0))
      ->capture_default_str();
  app.add_option("--spin-us", options.spin_us,
                 "How long an end of an edge in memory spins before it parks; of tcp none does")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  try {
    if (argc == 3 && std::string(argv[1]) == peer_argument) return run_peer(argv[2]), 0;
    CLI11_PARSE(app, argc, argv);
    if (quick) options.measured = {2, 0.005, quick_sizes, {}};
    options.measured.on_round = [all = options.measured.rounds](std::uint32_t round) {
      fmt::print(stderr, "round {} of {}\n", round, all);
    };
    run_driver(options);
    return 0;
  } catch (const std::exception& caught) {
    fmt::print(stderr, "transport_bench: {}\n", caught.what());
    return 1;
  }
}
