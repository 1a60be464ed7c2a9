#include "runtime/agent/freeze_node.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/os/errno_text.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

int open_process(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// The number of a child that was reaped may be another process's by now.
bool is_child(int process) {
  siginfo_t unused{};
  constexpr int how = WEXITED | WNOHANG | WNOWAIT | __WALL;
  return ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(process), &unused, how) == 0;
}

void signal_all(const int* processes, std::size_t count, int number) {
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<void>(::syscall(SYS_pidfd_send_signal, processes[i], number, nullptr, 0));
  }
}

/// Between the descriptors it needs, which ascend: what waits for the end of another one must not wait for this
/// process.
void close_all_but(const int* kept, std::size_t count) {
  unsigned from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto next = static_cast<unsigned>(kept[i]);
    if (next > from) static_cast<void>(::syscall(SYS_close_range, from, next - 1, 0));
    from = next + 1;
  }
  static_cast<void>(::syscall(SYS_close_range, from, ~0U, 0));
}

/// The small process, forked from one with threads: calls what a handler of signals may call.
[[noreturn]] void thaw_later(const int* processes, std::size_t count, std::chrono::milliseconds time) {
  close_all_but(processes, count);
  signal_all(processes, count, SIGSTOP);
  timespec left{.tv_sec = time.count() / 1000, .tv_nsec = time.count() % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
  signal_all(processes, count, SIGCONT);
  ::_exit(0);
}

}  // namespace

expected<void> freeze_processes(const std::vector<pid_t>& which, std::chrono::milliseconds time) {
  std::vector<unique_fd> opened;
  for (const pid_t each : which) {
    unique_fd one(open_process(each));
    if (!one && errno != ESRCH) return fail(error_code::process_failed, "freeze", "pidfd_open: " + errno_text());
    if (one && (each == ::getpid() || is_child(one.get()))) opened.push_back(std::move(one));
  }
  std::vector<int> processes;
  processes.reserve(opened.size());
  for (const unique_fd& each : opened) processes.push_back(each.get());
  std::ranges::sort(processes);
  const pid_t helper = ::fork();
  if (helper == 0) thaw_later(processes.data(), processes.size(), time);
  if (helper < 0) return fail(error_code::process_failed, "freeze", "fork: " + errno_text());
  while (::waitpid(helper, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {};
}

}  // namespace troupe
