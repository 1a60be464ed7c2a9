#include "tests/processes/marked_run.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <csignal>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/processes/process_list.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

std::string next_mark() {
  static std::atomic<int> made{0};
  return "RUN_MARK=" + std::to_string(::getpid()) + "." + std::to_string(++made);
}

/// For AddressSanitizer: its search for leaks takes a third of such a run, the tests of the commands have it. Two
/// frames of each allocation in place of thirty make the start a fifth shorter.
constexpr const char* short_run = "ASAN_OPTIONS=detect_leaks=0:malloc_context_size=2";

}  // namespace

marked_run::marked_run(std::vector<std::string> arguments, std::string program)
    : arguments_(std::move(arguments)),
      program_(program.empty() ? TROUPE_PROGRAM : std::move(program)),
      mark_(next_mark()) {}

program_outcome marked_run::run(std::vector<std::string> arguments) {
  arguments_ = std::move(arguments);
  return run();
}

program_outcome marked_run::run() {
  const auto started = clock::now();
  joined_at_.reset();
  const auto command = places_.command(program_, arguments_);
  const auto outcome = run_troupe({.arguments = {command.begin() + 1, command.end()},
                                   .program = command.front(),
                                   .environment = {mark_, places_.variable(), short_run},
                                   .directory = directory_.path().string(),
                                   .stderr_full = stderr_full,
                                   .on_stderr = on_stderr,
                                   .on_tick = on_tick,
                                   .on_start = [this](pid_t process) { driver_ = process; },
                                   .deadline = deadline});
  seconds_ = std::chrono::duration<double>(clock::now() - started).count();
  return outcome;
}

const std::vector<pid_t>& marked_run::children() {
  if (clock::now() >= looked_at_ + std::chrono::milliseconds{10}) {
    children_ = children_of(driver_);
    looked_at_ = clock::now();
  }
  return children_;
}

std::vector<pid_t> marked_run::workers() {
  std::vector<pid_t> found;
  for (const pid_t child : children()) {
    if (is_worker(child)) found.push_back(child);
  }
  return found;
}

bool marked_run::has_greeted(std::size_t workers) {
  constexpr std::chrono::milliseconds long_enough{sanitized ? 1500 : 300};
  if (!joined_at_) {
    const auto all = this->workers();
    if (static_cast<std::size_t>(std::ranges::count_if(all, has_joined)) < workers) return false;
    joined_at_ = clock::now();
  }
  return clock::now() >= *joined_at_ + long_enough;
}

bool marked_run::greeted_while_held_back(std::size_t workers) {
  using namespace std::chrono_literals;
  const auto all = this->workers();
  if (all.empty()) return false;
  const bool greeted = has_greeted(workers);
  const bool may_run = greeted || clock::now().time_since_epoch() % 50ms < 2ms;
  ::kill(all.front(), may_run ? SIGCONT : SIGSTOP);
  return greeted;
}

std::set<std::uint16_t> marked_run::ports() {
  std::vector<pid_t> processes = workers();
  processes.push_back(driver_);
  const auto found = ports_listened_at_by(processes);
  ports_.insert(found.begin(), found.end());
  return found;
}

std::uintmax_t marked_run::size_of(const std::string& file) const {
  std::error_code missing;
  const auto size = fs::file_size(directory_.path() / file, missing);
  return missing ? 0 : size;
}

void marked_run::expect_nothing_left(const std::set<std::string>& files, std::chrono::milliseconds patience) {
  EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); }, patience))
      << ::testing::PrintToString(processes_with(mark_));
  for (const std::uint16_t port : ports_) EXPECT_FALSE(is_listened_at(port)) << port;
  EXPECT_EQ(directory_.entries(), files);
  EXPECT_EQ(places_.left_behind(), std::set<std::string>{});
}

std::vector<std::uint64_t> words_of(const nlohmann::json& object) {
  std::vector<std::uint64_t> words;
  for (const nlohmann::json& value : object.flatten()) {
    if (value.is_number_integer()) words.push_back(value.get<std::uint64_t>());
    if (value.is_number_float()) words.push_back(std::bit_cast<std::uint64_t>(value.get<double>()));
  }
  return words;
}

std::vector<nlohmann::json> results_of(const program_outcome& outcome) {
  std::vector<nlohmann::json> results;
  std::istringstream out(outcome.out);
  for (std::string text; std::getline(out, text, '\f');) results.push_back(nlohmann::json::parse(text));
  return results;
}

}  // namespace troupe::testing
