#include "child_run.hpp"

#include <csignal>
#include <optional>
#include <utility>

#include "messages/try.hpp"
#include "runtime/process/error_line.hpp"
#include "runtime/process/own_arguments.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

/// What a child said and how it ended.
class child_listener final : public process_listener {
 public:
  child_listener(child_runner::on_line line, std::mutex& mutex, std::condition_variable& changed)
      : line_(std::move(line)), mutex_(mutex), changed_(changed) {}

  void on_output(worker_id, output_stream stream, std::string_view line) override {
    if (stream == output_stream::standard_error && line_) line_(line);
  }
  void on_exit(const exit_report& report) override {
    const std::lock_guard lock(mutex_);
    report_ = report;
    changed_.notify_all();
  }
  /// With the runner's mutex.
  [[nodiscard]] const std::optional<exit_report>& report() const noexcept { return report_; }

 private:
  const child_runner::on_line line_;
  std::mutex& mutex_;
  std::condition_variable& changed_;
  std::optional<exit_report> report_;
};

}  // namespace

expected<std::unique_ptr<child_runner>> child_runner::create(std::string command) {
  return process_host::create().map([&](std::unique_ptr<process_host>&& host) {
    return std::unique_ptr<child_runner>(new child_runner(std::move(command), std::move(host)));
  });
}

expected<child_end> child_runner::run(const std::string& name, const arguments& words, clock::duration patience,
                                      on_line stderr_line) {
  spawn_request asked;
  asked.name = name;
  asked.arguments = {own_arguments().front()};
  // the words say it all
  asked.environment = {{"TROUPE_CONFIG", ""}, {"TROUPE_FAULT", ""}, {error_line_variable, "1"}};
  asked.arguments.insert(asked.arguments.end(), words.begin(), words.end());
  const auto began = clock::now();
  const auto listener = std::make_shared<child_listener>(std::move(stderr_line), mutex_, changed_);
  const auto id = TROUPE_TRY(host_->start(std::move(asked), listener));
  std::unique_lock lock(mutex_);
  const auto has_ended = [&] { return listener->report().has_value(); };
  bool overdue = !changed_.wait_until(lock, began + patience, [&] { return has_ended() || interrupted_; });
  if (!has_ended()) {
    lock.unlock();
    static_cast<void>(host_->kill(id, SIGKILL));
    lock.lock();
    changed_.wait_for(lock, limits::worker_reap_time_at_exit, has_ended);
  }
  if (interrupted_) return fail(error_code::interrupted, command_, "it was interrupted");
  if (!has_ended()) return fail(error_code::process_failed, name, "it does not end after SIGKILL");
  return child_end{*listener->report(), overdue, std::chrono::duration<double>(clock::now() - began).count()};
}

void child_runner::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

}  // namespace troupe::cli
