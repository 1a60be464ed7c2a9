#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/processes/private_places.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {

/// A program that starts workers, in a directory of its own, with a mark in its environment by which all of its
/// processes are found again, also those that outlive it.
class marked_run {
 public:
  /// `program`: empty for `troupe`.
  explicit marked_run(std::vector<std::string> arguments, std::string program = {});

  /// Before run(): every millisecond or so; the signals it returns go to the driver.
  std::function<std::vector<int>()> on_tick = {};
  std::function<std::vector<int>(const std::string& so_far)> on_stderr = {};
  std::chrono::seconds deadline{90};
  /// See program_call.
  bool stderr_full = false;

  /// May be called again, with other arguments.
  program_outcome run();
  program_outcome run(std::vector<std::string> arguments);

  // While it runs.
  [[nodiscard]] pid_t driver() const { return driver_; }
  /// Those that are about to be executed among them; as of a few milliseconds ago.
  [[nodiscard]] const std::vector<pid_t>& children();
  /// Those whose program runs, a spare among them.
  [[nodiscard]] std::vector<pid_t> workers();
  /// So many have joined the driver, a moment ago: they have said hello.
  [[nodiscard]] bool has_greeted(std::size_t workers);
  /// The same, to be asked at each tick: until then the first worker is stopped for most of the time, far below any
  /// time-out, so that the run does not end before.
  [[nodiscard]] bool greeted_while_held_back(std::size_t workers);
  /// TCP ports at which the driver and its workers listen now; expect_nothing_left() looks at all that were seen.
  [[nodiscard]] std::set<std::uint16_t> ports();
  [[nodiscard]] const std::string& mark() const { return mark_; }
  [[nodiscard]] std::uintmax_t size_of(const std::string& file) const;

  // After it.
  /// Within `patience`: no process, no listener that ports() has seen, no file but the `files` in the working
  /// directory, and none in the places that are this run's own.
  void expect_nothing_left(const std::set<std::string>& files = {},
                           std::chrono::milliseconds patience = std::chrono::seconds{2});

  [[nodiscard]] const scratch& directory() const { return directory_; }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  scratch directory_;
  std::vector<std::string> arguments_;
  std::string program_;
  std::string mark_;
  private_places places_;
  pid_t driver_ = -1;
  std::vector<pid_t> children_;
  std::chrono::steady_clock::time_point looked_at_;
  std::set<std::uint16_t> ports_;
  std::optional<std::chrono::steady_clock::time_point> joined_at_;
  double seconds_ = 0;
};

/// Every number of a "metrics" or "sinks" object in order, doubles as their words.
std::vector<std::uint64_t> words_of(const nlohmann::json& object);

/// What programs of this folder print, with a form feed behind each result.
std::vector<nlohmann::json> results_of(const program_outcome& outcome);

}  // namespace troupe::testing
