#include "program/start/model_probe.hpp"

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/process/fork_server.hpp"
#include "runtime/process/own_arguments.hpp"
#include "runtime/process/probe_environment.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

constexpr const char* name_in_log = "try-out";

/// Passes on what the process prints, and keeps how it ended.
class probe_watch final : public process_listener {
 public:
  explicit probe_watch(log_function log) : log_(std::move(log)) {}

  void on_output(worker_id, output_stream, std::string_view line) override {
    if (log_) log_({.text = std::string(line), .stage = name_in_log});
  }
  void on_exit(const exit_report& report) override {
    const std::lock_guard lock(mutex_);
    ended_ = report;
    changed_.notify_all();
  }

  /// Nothing if it still runs at `deadline`, or when `stop` was asked for.
  std::optional<exit_report> wait(steady::time_point deadline, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, deadline, [this] { return ended_.has_value(); });
    return ended_;
  }

 private:
  const log_function log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<exit_report> ended_;
};

expected<spawn_request> spawn_request_for(const probe_request& request, const probe_file& file) {
  auto copy = TROUPE_TRY(file.duplicate());
  spawn_request made{.name = name_in_log,
                     .arguments = own_arguments(),
                     .environment = request.environment,
                     .fds = {},
                     .from = request.from};
  made.environment.emplace_back(probe_variable, encode({request.spans_nodes}));
  made.fds.push_back({std::move(copy), probe_report_number});
  return made;
}

bool was_killed_from_outside(const exit_report& report) {
  return report.kind == exit_kind::signalled && (report.value == SIGKILL || report.value == SIGTERM);
}

std::string place_in(const probe_request& request, const std::string& place) {
  return place.empty() || place == request.what ? request.what : request.what + ", " + place;
}

/// What the process told has a fix of its own.
std::string fix_for(const exit_report& report, std::string otherwise) {
  return report.told && !report.told->fix.empty() ? report.told->fix : std::move(otherwise);
}

error crash(const probe_request& request, const std::string& place, const exit_report& report) {
  const bool killed = was_killed_from_outside(report);
  return {error_code::model_crashed, place_in(request, place),
          "the process in which it was tried out ended" +
              (killed ? " " + std::to_string(limits::probe_attempts_max) + " times" : std::string()) + ": " +
              report.describe(),
          fix_for(report, killed ? "find out who killed it: the kernel's log names processes that took too much memory"
                                 : "mend the code that crashes; its last lines, if any, say more")};
}

error hang(const probe_request& request, const std::string& place) {
  return {error_code::model_crashed, place_in(request, place),
          "it was still being tried out after " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(request.patience).count()) +
              " s, and its process was killed",
          "look for a loop without an end, or raise --start-deadline"};
}

error early_end(const exit_report& report) {
  return {error_code::process_failed, name_in_log, "its process ended before it came to the run: " + report.describe(),
          fix_for(report,
                  "call troupe::program, or the command line, in main() of this program; see its last lines, if any")};
}

struct attempt {
  expected<probe_report> report;
  /// How the process ended, if it may be started again.
  std::optional<exit_report> killed = std::nullopt;
};

attempt failed(error why) {
  return {tl::make_unexpected(std::move(why))};
}

attempt outcome_of(const probe_request& request, const probe_file& file, const exit_report& ended) {
  if (auto report = file.read()) return {std::move(*report)};
  const auto place = file.place();
  attempt made = failed(place ? crash(request, *place, ended) : early_end(ended));
  if (was_killed_from_outside(ended)) made.killed = ended;
  return made;
}

attempt try_once(const probe_request& request, const std::stop_token& stop) {
  const auto deadline = steady::now() + request.patience;
  const auto file = probe_file::make();
  if (!file) return failed(file.error());
  auto spawned = spawn_request_for(request, *file);
  if (!spawned) return failed(spawned.error());
  const auto host = process_host::create();
  if (!host) return failed(host.error());
  const auto watch = std::make_shared<probe_watch>(request.log);
  const auto started = (*host)->start(std::move(*spawned), watch);
  if (!started) return failed(started.error());
  const auto ended = watch->wait(deadline, stop);
  if (ended) return outcome_of(request, *file, *ended);
  static_cast<void>((*host)->stop(steady::now() + limits::worker_reap_time, std::chrono::milliseconds{0}));
  if (!stop.stop_requested()) return failed(hang(request, file->place().value_or("")));
  return failed({error_code::call_cancelled, request.what, "its try-out was stopped", {}});
}

void warn_of_restart(const probe_request& request, const exit_report& killed) {
  if (!request.log) return;
  request.log({.level = log_level::warning,
               .text = "the process in which the model is tried out is started again: " + killed.describe(),
               .stage = name_in_log});
}

}  // namespace

expected<probe_report> probe_in_process(const probe_request& request, const std::stop_token& stop) {
  for (std::uint32_t left = limits::probe_attempts_max;; --left) {
    attempt made = try_once(request, stop);
    if (made.report || !made.killed || left <= 1 || stop.stop_requested()) return std::move(made.report);
    warn_of_restart(request, *made.killed);
  }
}

}  // namespace troupe
