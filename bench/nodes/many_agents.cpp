// One driver and many agents over loopback, with real tickets and TLS: how long they take to form, and what a node
// costs the driver. The driver has a process of its own; agents are links in this one (docs/multi-node.md).
//
//   many_agents [--nodes N]... [--rounds N] [--idle-seconds S] [--json FILE]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../machine.hpp"
#include "../spread.hpp"
#include "forming_driver.hpp"
#include "messages/version.hpp"
#include "runtime/link/liveness.hpp"
#include "runtime/os/cores.hpp"
#include "simulated_agents.hpp"

namespace {

using namespace troupe;
using namespace troupe::bench;

struct bench_options {
  std::vector<std::size_t> nodes = {50, 100, 200};
  std::size_t rounds = 5;
  double idle_seconds = 10;
  std::string json_file;
};

using figures_by_nodes = std::map<std::size_t, std::vector<formation_figures>>;

/// A joining agent has a socket and an event loop, for a moment.
void take_all_descriptors() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

class driver_lines {
 public:
  explicit driver_lines(unique_fd from) : file_(::fdopen(from.release(), "r")) {}

  std::string next() {
    std::string line;
    for (int c = std::fgetc(file_.get()); c != '\n'; c = std::fgetc(file_.get())) {
      if (c == EOF) throw formation_failure("the driver has ended");
      line += static_cast<char>(c);
    }
    return line;
  }

 private:
  const std::unique_ptr<std::FILE, file_closer> file_;
};

[[noreturn]] void be_driver(const formation& asked, unique_fd agents) {
  try {
    run_driver(asked, std::move(agents));
    std::_Exit(0);
  } catch (const std::exception& caught) {
    fmt::print(stderr, "driver: {}\n", caught.what());
    std::fflush(stderr);
    std::_Exit(1);
  }
}

formation_figures figures_of(const std::string& line) {
  formation_figures found;
  std::istringstream in(line);
  in >> found.seconds_to_form >> found.join_cpu_us_per_node >> found.heartbeat_cpu_us >> found.resident_kib_per_node >>
      found.allocated_kib_per_node >> found.refused;
  if (!in) throw formation_failure("the driver said: " + line);
  return found;
}

formation_figures hear(driver_lines& driver, const formation& asked) {
  simulated_agents agents;
  for (std::size_t node = 0; node < asked.nodes; ++node) agents.start(driver.next());
  try {
    const formation_figures found = figures_of(driver.next());
    if (const auto failed = agents.failures(); !failed.empty()) throw formation_failure(failed.front());
    return found;
  } catch (const formation_failure&) {
    const auto failed = agents.failures();
    if (!failed.empty()) fmt::print(stderr, "{} agents failed, the first: {}\n", failed.size(), failed.front());
    throw;
  }
}

/// Nothing of this process but the thread that calls runs at the fork.
formation_figures form(const formation& asked) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw formation_failure("no sockets");
  unique_fd own(ends[0]);
  unique_fd of_driver(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw formation_failure("no process");
  if (child == 0) {
    own.reset();
    be_driver(asked, std::move(of_driver));
  }
  of_driver.reset();
  struct reaper {
    pid_t child;
    ~reaper() { ::waitpid(child, nullptr, 0); }
  } const at_the_end{child};
  driver_lines driver(std::move(own));  // closed before: the driver ends
  return hear(driver, asked);
}

nlohmann::ordered_json spread_of_each(const std::vector<formation_figures>& of, double formation_figures::*which) {
  std::vector<double> values;
  for (const formation_figures& each : of) values.push_back(each.*which);
  return spread_json(spread_of(std::move(values)));
}

nlohmann::ordered_json json_of(const figures_by_nodes& all) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& [nodes, found] : all) {
    std::vector<std::size_t> refused;
    for (const formation_figures& each : found) refused.push_back(each.refused);
    rows.push_back({{"nodes", nodes},
                    {"seconds_to_form", spread_of_each(found, &formation_figures::seconds_to_form)},
                    {"join_cpu_us_per_node", spread_of_each(found, &formation_figures::join_cpu_us_per_node)},
                    {"heartbeat_cpu_us", spread_of_each(found, &formation_figures::heartbeat_cpu_us)},
                    {"resident_kib_per_node", spread_of_each(found, &formation_figures::resident_kib_per_node)},
                    {"allocated_kib_per_node", spread_of_each(found, &formation_figures::allocated_kib_per_node)},
                    {"refused_connections", refused}});
  }
  return rows;
}

figures_by_nodes measure(const bench_options& options) {
  const std::chrono::milliseconds idle(static_cast<std::int64_t>(options.idle_seconds * 1000));
  figures_by_nodes all;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    for (const std::size_t nodes : options.nodes) {
      const formation_figures found = form({nodes, idle});
      all[nodes].push_back(found);
      fmt::print(stderr,
                 "{} nodes: formed in {:.2f} s, joining {:.0f} us, heartbeat {:.1f} us, {:.0f} KiB resident, {:.0f} "
                 "KiB allocated, {} refused\n",
                 nodes, found.seconds_to_form, found.join_cpu_us_per_node, found.heartbeat_cpu_us,
                 found.resident_kib_per_node, found.allocated_kib_per_node, found.refused);
    }
  }
  return all;
}

void run(const bench_options& options) {
  take_all_descriptors();
  nlohmann::ordered_json json{{"environment",
                               {{"processor", processor()},
                                {"cores", usable_cores()},
                                {"compiler", compiler()},
                                {"version", version_text()},
                                {"load_average_before", load_average()}}},
                              {"heartbeat_ms", liveness{}.heartbeat().count()},
                              {"idle_seconds", options.idle_seconds},
                              {"rounds", options.rounds}};
  json["rows"] = json_of(measure(options));
  fmt::print("{}\n", json.dump(2));
  if (options.json_file.empty()) return;
  std::ofstream out(options.json_file);
  out << json.dump(2) << '\n';
  if (!out.flush()) throw formation_failure("cannot write " + options.json_file);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("One driver and many agents over loopback: time to form, and the driver's time and memory per node.");
  bench_options options;
  app.add_option("--nodes", options.nodes, "Agents; may be repeated")->check(CLI::Range(1, 10'000));
  app.add_option("--rounds", options.rounds, "Rounds of all sizes")->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--idle-seconds", options.idle_seconds, "Over which heartbeats are measured")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--json", options.json_file, "Write all figures to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
    return 0;
  } catch (const std::exception& caught) {
    fmt::print(stderr, "many_agents: {}\n", caught.what());
    return 1;
  }
}
