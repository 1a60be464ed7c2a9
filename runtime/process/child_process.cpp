#include "runtime/process/child_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/process/error_line.hpp"

namespace troupe {
namespace {

constexpr std::size_t read_bytes = 16u << 10;

/// How long a tracer that holds a dead process is left alone: its pidfd stays readable all the time.
constexpr std::chrono::milliseconds tracer_time{10};

enum class remains : std::uint8_t {
  waitable,     ///< until it is reaped, no other process has its number
  with_tracer,  ///< a debugger, or a sanitizer's search for leaks: the kernel keeps the process for it
  gone,         ///< other code waits for all children, or SIGCHLD is ignored
};

/// The state of a process whose pidfd is readable.
remains remains_of(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
    return remains::gone;
  return info.si_pid != 0 ? remains::waitable : remains::with_tracer;
}

}  // namespace

child_process::child_process(worker_id id, std::string name, spawned_process process,
                             std::shared_ptr<process_listener> listener)
    : process_(std::move(process)), listener_(std::move(listener)) {
  report_.worker = id;
  report_.name = std::move(name);
  report_.pid = process_.pid;
}

std::array<pollfd, child_process::polled_fds> child_process::polled() const {
  const int pidfd = output_until_ || reap_at_ ? -1 : process_.pidfd.get();
  return {pollfd{pidfd, POLLIN, 0}, pollfd{process_.standard_output.get(), POLLIN, 0},
          pollfd{process_.standard_error.get(), POLLIN, 0}};
}

// The pipes are read after the death was noticed: whatever the worker itself wrote is then in them.
void child_process::look(std::span<const pollfd, polled_fds> ready, time_point now) {
  if (!output_until_ && (ready[0].revents != 0 || (reap_at_ && now >= *reap_at_))) {
    if (!died_at_) died_at_ = now;
    // Beyond that time nothing waits for a tracer: the process is dead, and how it ended stays unknown.
    if (reap() || now - *died_at_ >= limits::worker_reap_time_at_exit) {
      output_until_ = now + limits::worker_output_drain_time;
    } else {
      reap_at_ = now + tracer_time;
    }
  }
  const bool dead = output_until_.has_value();
  const bool more_output = (dead || ready[1].revents != 0) && read_turn(output_stream::standard_output);
  const bool more_errors = (dead || ready[2].revents != 0) && read_turn(output_stream::standard_error);
  if (!dead) return;
  const bool ended = !process_.standard_output && !process_.standard_error;
  const bool waited_enough = now >= *output_until_;
  if (ended || (waited_enough && !more_output && !more_errors) ||
      now >= *output_until_ + limits::worker_output_drain_time) {
    finish();
  }
}

void child_process::give_up() {
  finish();
}

/// False if there is nothing left to read now.
bool child_process::read_turn(output_stream stream) {
  unique_fd& pipe = pipe_of(stream);
  std::array<char, read_bytes> bytes;
  for (std::size_t turn = 0; pipe && turn < limits::worker_output_bytes_per_turn; turn += bytes.size()) {
    const ssize_t got = ::read(pipe.get(), bytes.data(), bytes.size());
    if (got > 0) {
      splitter_of(stream).feed({bytes.data(), static_cast<std::size_t>(got)},
                               [&](std::string_view line) { on_line(stream, line); });
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      end_of(stream);
    } else {
      return errno == EINTR;
    }
  }
  return static_cast<bool>(pipe);
}

void child_process::end_of(output_stream stream) {
  pipe_of(stream).reset();
  splitter_of(stream).finish([&](std::string_view line) { on_line(stream, line); });
}

void child_process::on_line(output_stream stream, std::string_view line) {
  if (stream == output_stream::standard_error) {
    if (const auto told = error_in(line)) return on_error(*told);
    keep(line);
  }
  if (listener_ != nullptr) listener_->on_output(report_.worker, stream, line);
}

/// The listener gets it as people read it. The first is the one that decides.
void child_process::on_error(const error& told) {
  const bool is_first = !report_.told;
  if (is_first) report_.told = told;
  const std::string text = to_string(told);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (!is_first) keep(line);
    if (listener_ != nullptr) listener_->on_output(report_.worker, output_stream::standard_error, line);
    at = end + 1;
  }
}

void child_process::keep(std::string_view line) {
  tail_.emplace_back(line);
  if (tail_.size() > limits::worker_output_lines_kept) tail_.pop_front();
}

/// False if its tracer has to let it go first.
bool child_process::reap() {
  const remains found = remains_of(process_.pidfd.get());
  if (found != remains::waitable) return found == remains::gone;
  // What the worker has started goes with it.
  ::kill(-process_.pid, SIGKILL);
  int status = 0;
  rusage used{};
  pid_t reaped = -1;
  do {
    reaped = ::wait4(process_.pid, &status, WNOHANG | __WALL, &used);
  } while (reaped < 0 && errno == EINTR);
  if (reaped != process_.pid) return true;
  report_.kind = WIFSIGNALED(status) ? exit_kind::signalled : exit_kind::exited;
  report_.value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  report_.core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
  report_.max_resident_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  return true;
}

void child_process::finish() {
  end_of(output_stream::standard_output);
  end_of(output_stream::standard_error);
  report_.last_lines.assign(tail_.begin(), tail_.end());
  const bool has_failed = report_.kind == exit_kind::exited && report_.value != 0;
  if (!has_failed) report_.told.reset();
  if (has_failed && !report_.told) report_.told = take_last_error(report_.last_lines);
  finished_ = true;
  if (listener_ != nullptr) listener_->on_exit(report_);
}

unique_fd& child_process::pipe_of(output_stream stream) noexcept {
  return stream == output_stream::standard_output ? process_.standard_output : process_.standard_error;
}

line_splitter& child_process::splitter_of(output_stream stream) noexcept {
  return stream == output_stream::standard_output ? output_lines_ : error_lines_;
}

}  // namespace troupe
