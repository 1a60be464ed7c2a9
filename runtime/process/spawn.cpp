#include "runtime/process/spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/process/child_side.hpp"
#include "runtime/process/exec_image.hpp"
#include "runtime/process/fork_server.hpp"

namespace troupe {
namespace {

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

struct child_pipes {
  unique_fd null;
  pipe_ends out;
  pipe_ends err;
  pipe_ends report;
};

tl::unexpected<error> refused(const spawn_request& request, const std::string& what, int number, std::string fix) {
  return fail(error_code::process_failed, request.name, what + ": " + errno_text(number), std::move(fix));
}

constexpr const char* raise_open_files = "raise the limit of open files (ulimit -n)";

/// Only the reading end must not block: the other one is the child's standard output.
bool open_pipe(pipe_ends& ends) {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return false;
  ends.read.reset(fds[0]);
  ends.write.reset(fds[1]);
  return ::fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

bool open_pipes(child_pipes& pipes) {
  pipes.null.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return pipes.null && open_pipe(pipes.out) && open_pipe(pipes.err) && open_pipe(pipes.report);
}

int first_open(const unique_fd& given, const unique_fd& otherwise) {
  return given ? given.get() : otherwise.get();
}

std::vector<fd_move> moves_of(const spawn_request& request, const child_pipes& pipes) {
  std::vector<fd_move> moves{{first_open(request.standard_input, pipes.null), STDIN_FILENO, -1},
                             {first_open(request.standard_output, pipes.out.write), STDOUT_FILENO, -1},
                             {first_open(request.standard_error, pipes.err.write), STDERR_FILENO, -1}};
  for (const inherited_fd& inherited : request.fds) moves.push_back({inherited.fd.get(), inherited.number, -1});
  std::ranges::sort(moves, {}, &fd_move::to);
  return moves;
}

/// Without the handlers that libraries register for fork(): they take locks, and this child only executes.
pid_t bare_fork() {
#if defined(__SANITIZE_THREAD__)
  return ::fork();  // ThreadSanitizer has to know
#else
  return ::_Fork();
#endif
}

/// No handler of the driver may run in the child: signals stay blocked until the child has reset them.
pid_t fork_child(const child_setup& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = bare_fork();
  const int number = errno;
  if (pid == 0) run_child(plan);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return pid;
}

/// For a child of which the number is all that is known: it is between fork and exec, or a new copy.
void end_child(pid_t pid) {
  ::kill(pid, SIGKILL);  // not reaped yet: the number is still this child's
  ::waitpid(pid, nullptr, __WALL);
}

}  // namespace

/// copying -> executing -> (done); executing -> ending -> (failed).
enum class starting_process::phase : std::uint8_t { copying, executing, ending };

struct starting_process::state {
  state(const spawn_request& request, exec_image made, time_point by)
      : asked(request), image(std::move(made)), deadline(by) {}

  const spawn_request& asked;
  const exec_image image;
  const time_point deadline;
  child_pipes pipes;
  std::vector<fd_move> moves;
  spawned_process child;
  phase now = phase::executing;
  /// Why it ends, and when it need not be waited for any longer.
  error why;
  time_point end_by;
};

starting_process::starting_process(std::unique_ptr<state> made) : state_(std::move(made)) {}

expected<std::unique_ptr<starting_process>> starting_process::begin(const spawn_request& request, time_point deadline) {
  auto image = TROUPE_TRY(exec_image::make(request));
  auto made = std::make_unique<state>(request, std::move(image), deadline);
  if (!open_pipes(made->pipes)) return refused(request, "no pipes", errno, raise_open_files);
  made->moves = moves_of(request, made->pipes);
  const bool is_asked = request.from && request.from->ask(made->image, made->moves, deadline);
  made->now = is_asked ? phase::copying : phase::executing;
  std::unique_ptr<starting_process> started(new starting_process(std::move(made)));
  if (is_asked) return started;
  return started->execute().map([&] { return std::move(started); });
}

starting_process::~starting_process() {
  if (state_->now == phase::copying) state_->child.pid = state_->asked.from->give_up();
  if (state_->child.pid <= 0) return;
  if (!state_->child.pidfd) {
    end_child(state_->child.pid);
    return;
  }
  send_signal(state_->child.pidfd.get(), SIGKILL);
  pollfd death{state_->child.pidfd.get(), POLLIN, 0};
  ::poll(&death, 1, static_cast<int>(limits::worker_reap_time.count()));
  ::waitpid(state_->child.pid, nullptr, WNOHANG | __WALL);
}

pollfd starting_process::polled() const {
  switch (state_->now) {
    case phase::copying:
      return {state_->asked.from->fd(), POLLIN, 0};
    case phase::executing:
      return {state_->pipes.report.read.get(), POLLIN, 0};
    case phase::ending:
      break;
  }
  return {state_->child.pidfd.get(), POLLIN, 0};
}

starting_process::time_point starting_process::wakes_at() const {
  switch (state_->now) {
    case phase::copying:
      return state_->asked.from->wakes_at();
    case phase::executing:
      return state_->deadline;
    case phase::ending:
      break;
  }
  return state_->end_by;
}

std::optional<expected<spawned_process>> starting_process::look(time_point now) {
  if (state_->now == phase::copying) {
    const auto copied = state_->asked.from->take(now);
    if (!copied) return std::nullopt;
    TROUPE_TRY(*copied > 0 ? adopt(*copied) : execute());
  }
  if (state_->now == phase::executing && !has_executed(now)) return std::nullopt;
  if (state_->now == phase::ending) return end(now);
  spawned_process child = std::move(state_->child);
  state_->child = {};
  if (!state_->asked.standard_output) child.standard_output = std::move(state_->pipes.out.read);
  if (!state_->asked.standard_error) child.standard_error = std::move(state_->pipes.err.read);
  return child;
}

expected<void> starting_process::execute() {
  const exec_image& image = state_->image;
  const pid_t pid = fork_child({image.program(), image.arguments(), image.environment(), state_->moves,
                                state_->pipes.report.write.get(), ::getpid()});
  if (pid < 0) return refused(state_->asked, "fork", errno, "raise the limit of processes (ulimit -u)");
  return adopt(pid);
}

expected<void> starting_process::adopt(pid_t pid) {
  state_->now = phase::executing;
  state_->pipes.report.write.reset();
  unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) {
    const int number = errno;
    end_child(pid);
    return refused(state_->asked, "pidfd_open", number, raise_open_files);
  }
  state_->child.pid = pid;
  state_->child.pidfd = std::move(pidfd);
  return {};
}

/// True once its program runs, which closes the pipe, or fails, which makes it end. A copy has no such pipe.
bool starting_process::has_executed(time_point now) {
  child_failure failure;
  const ssize_t got = ::read(state_->pipes.report.read.get(), &failure, sizeof failure);
  if (got == 0) return true;
  if (got < 0) {
    TROUPE_CHECK(errno == EAGAIN || errno == EINTR, "a pipe of this process can be read");
    if (now < state_->deadline) return false;
    failure = {child_step::exec, ETIMEDOUT};
  }
  TROUPE_CHECK(got < 0 || got == static_cast<ssize_t>(sizeof failure), "a child reports its failure in one piece");
  const spawn_request& asked = state_->asked;
  state_->why = refused(asked, std::string(name_of(failure.step)) + " of " + asked.program, failure.error,
                        failure.step == child_step::exec ? "check that the program is there and may be executed" : "")
                    .value();
  send_signal(state_->child.pidfd.get(), SIGKILL);
  state_->now = phase::ending;
  state_->end_by = now + limits::worker_reap_time;
  return true;
}

/// One that even SIGKILL does not end in time stays a zombie until the driver's end.
std::optional<expected<spawned_process>> starting_process::end(time_point now) {
  pollfd death{state_->child.pidfd.get(), POLLIN, 0};
  if (::poll(&death, 1, 0) != 1 && now < state_->end_by) return std::nullopt;
  ::waitpid(state_->child.pid, nullptr, WNOHANG | __WALL);
  state_->child = {};
  return tl::make_unexpected(std::move(state_->why));
}

bool send_signal(int pidfd, int number) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0) return true;
  TROUPE_CHECK(errno == ESRCH || errno == EPERM, "the signal exists and the pidfd is open");
  return false;
}

}  // namespace troupe
