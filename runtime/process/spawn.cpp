#include "runtime/process/spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/process/child_side.hpp"
#include "runtime/process/exec_image.hpp"
#include "runtime/process/nursery.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

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
pid_t fork_child(const child_plan& plan) {
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

int milliseconds_until(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

/// For a child that is of no use. One that even SIGKILL does not end in time stays a zombie until the driver's end.
void end_child(pid_t pid, int pidfd) {
  if (pidfd < 0) {
    ::kill(pid, SIGKILL);  // not reaped yet: the number is still this child's
    ::waitpid(pid, nullptr, __WALL);
    return;
  }
  send_signal(pidfd, SIGKILL);
  pollfd death{pidfd, POLLIN, 0};
  const auto until = steady_clock::now() + limits::worker_reap_time;
  while (::poll(&death, 1, milliseconds_until(until)) < 0 && errno == EINTR) {
  }
  ::waitpid(pid, nullptr, WNOHANG | __WALL);
}

/// Waits until the child executes its program, which closes the pipe; error 0 then.
child_failure await_exec(int report, steady_clock::time_point deadline) {
  while (true) {
    child_failure failure;
    const ssize_t got = ::read(report, &failure, sizeof(failure));
    if (got == 0) return {};
    if (got == static_cast<ssize_t>(sizeof(failure))) return failure;
    TROUPE_CHECK(got < 0 && (errno == EAGAIN || errno == EINTR), "a child reports its failure in one piece");
    if (steady_clock::now() >= deadline) return {child_step::exec, ETIMEDOUT};
    pollfd waits{report, POLLIN, 0};
    ::poll(&waits, 1, milliseconds_until(deadline));
  }
}

}  // namespace

expected<spawned_process> spawn(const spawn_request& request, steady_clock::time_point deadline) {
  auto image = exec_image::make(request);
  if (!image) return tl::make_unexpected(image.error());
  child_pipes pipes;
  if (!open_pipes(pipes)) return refused(request, "no pipes", errno, raise_open_files);
  auto moves = moves_of(request, pipes);
  spawned_process child;
  if (request.from) child.pid = request.from->copy(*image, moves, deadline);
  if (child.pid <= 0) {
    child.pid = fork_child(
        {image->program(), image->arguments(), image->environment(), moves, pipes.report.write.get(), ::getpid()});
  }
  if (child.pid < 0) return refused(request, "fork", errno, "raise the limit of processes (ulimit -u)");
  pipes.report.write.reset();
  child.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.pidfd) {
    const int number = errno;
    end_child(child.pid, -1);
    return refused(request, "pidfd_open", number, raise_open_files);
  }
  const child_failure failure = await_exec(pipes.report.read.get(), deadline);
  if (failure.error != 0) {
    end_child(child.pid, child.pidfd.get());
    return refused(request, std::string(name_of(failure.step)) + " of " + request.program, failure.error,
                   failure.step == child_step::exec ? "check that the program is there and may be executed" : "");
  }
  if (!request.standard_output) child.standard_output = std::move(pipes.out.read);
  if (!request.standard_error) child.standard_error = std::move(pipes.err.read);
  return child;
}

bool send_signal(int pidfd, int number) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0) == 0) return true;
  TROUPE_CHECK(errno == ESRCH || errno == EPERM, "the signal exists and the pidfd is open");
  return false;
}

}  // namespace troupe
