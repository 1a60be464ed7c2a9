#include "runtime/process/child_side.hpp"

#include <cerrno>
#include <climits>
#include <csignal>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/open_file_limit.hpp"

namespace troupe {
namespace {

constexpr int status_if_not_started = 127;

[[noreturn]] void give_up(int report, child_step step) noexcept {
  const child_failure failure{step, errno};
  // Fits the empty pipe. If it fails there is no other way to tell it.
  [[maybe_unused]] const auto written = ::write(report, &failure, sizeof(failure));
  ::_exit(status_if_not_started);
}

/// A target may be the number of another move's source: all are copied out of the way first.
bool move_descriptors(std::span<fd_move> moves, int first_free) noexcept {
  for (fd_move& move : moves) {
    move.parked = ::fcntl(move.from, F_DUPFD_CLOEXEC, first_free);
    if (move.parked < 0) return false;
  }
  for (const fd_move& move : moves) {
    if (::dup2(move.parked, move.to) < 0) return false;
  }
  return true;
}

/// Everything between and above the targets closes, in exec with CLOSE_RANGE_CLOEXEC: also what a library opened
/// without that flag.
bool close_between(std::span<const fd_move> moves, unsigned how) noexcept {
  unsigned first = 0;
  for (const fd_move& move : moves) {
    const unsigned kept = static_cast<unsigned>(move.to);
    if (first < kept && ::close_range(first, kept - 1, static_cast<int>(how)) != 0) return false;
    first = kept + 1;
  }
  return ::close_range(first, UINT_MAX, static_cast<int>(how)) == 0;
}

/// The driver may have died before it was watched: then this process has another parent already.
bool die_with(pid_t driver) noexcept {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  errno = ESRCH;
  return ::getppid() == driver;
}

/// Exec keeps the mask and ignored signals; handlers would run in the child until then.
bool reset_signals() noexcept {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {
    // Refused for SIGKILL, SIGSTOP and the C library's own.
    [[maybe_unused]] const int refused = ::sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

}  // namespace

const char* name_of(child_step step) noexcept {
  switch (step) {
    case child_step::move_report:
    case child_step::descriptors:
      return "dup";
    case child_step::close_others:
      return "close_range";
    case child_step::file_limit:
      return "setrlimit(RLIMIT_NOFILE)";
    case child_step::parent:
      return "prctl(PR_SET_PDEATHSIG)";
    case child_step::group:
      return "setpgid";
    case child_step::signals:
      return "sigprocmask";
    case child_step::exec:
      return "exec";
  }
  return "start";
}

void run_child(const child_setup& plan) noexcept {
  if (!die_with(plan.driver)) give_up(plan.report, child_step::parent);
  if (::setpgid(0, 0) != 0) give_up(plan.report, child_step::group);
  const int first_free = plan.moves.back().to + 1;
  const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, first_free);
  if (report < 0) give_up(plan.report, child_step::move_report);
  if (!move_descriptors(plan.moves, first_free)) give_up(report, child_step::descriptors);
  if (!close_between(plan.moves, CLOSE_RANGE_CLOEXEC)) give_up(report, child_step::close_others);
  if (!restore_open_file_limit()) give_up(report, child_step::file_limit);
  if (!reset_signals()) give_up(report, child_step::signals);
  ::execve(plan.program, plan.arguments, plan.environment);
  give_up(report, child_step::exec);
}

bool settle_child(const child_setup& plan) noexcept {
  return die_with(plan.driver) && ::setpgid(0, 0) == 0 &&
         move_descriptors(plan.moves, limits::worker_inherited_fd_max + 1);
}

bool close_others(std::span<const fd_move> moves) noexcept {
  return close_between(moves, 0);
}

}  // namespace troupe
