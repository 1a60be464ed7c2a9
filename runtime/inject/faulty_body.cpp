#include "runtime/inject/faulty_body.hpp"

#include <chrono>
#include <csignal>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/fault/fault_draw.hpp"

namespace troupe {
namespace {

/// A status that no other end of a worker has.
constexpr int status_of_exit = 99;

/// Between fork and its end the child calls signal-safe functions alone. Who kills the frozen process kills its group,
/// and so the child.
pid_t thaw_from_outside(std::chrono::nanoseconds after) {
  const pid_t frozen = ::getpid();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(after);
  timespec left{.tv_sec = seconds.count(), .tv_nsec = (after - seconds).count()};
  const pid_t child = ::fork();
  if (child != 0) return child;
  while (::nanosleep(&left, &left) != 0) {
  }
  ::kill(frozen, SIGCONT);
  ::_exit(0);
}

/// More than any machine has, unless the plan says how much; what can be had after all is as good as not.
[[noreturn]] void fail_to_allocate(std::optional<std::uint64_t> bytes) {
  const std::size_t size = bytes.value_or(std::numeric_limits<std::ptrdiff_t>::max() / 2);
  void* const got = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) ::munmap(got, size);
  throw std::bad_alloc();
}

}  // namespace

fatal_acts fatal_acts::of_this_process() {
  return {.kill = [] { ::kill(::getpid(), SIGKILL); },
          .freeze =
              [](std::optional<std::chrono::nanoseconds> lasts) {
                const pid_t helper = lasts ? thaw_from_outside(*lasts) : 0;
                if (helper < 0) return;  // for ever would be another fault
                ::kill(::getpid(), SIGSTOP);
                if (helper > 0) ::waitpid(helper, nullptr, 0);
              },
          .leave = [] { ::_exit(status_of_exit); }};
}

forward_faults::forward_faults(std::vector<numbered_fault> faults, std::uint64_t lot, injected_function on_injected,
                               fatal_acts acts)
    : faults_(std::move(faults)), lot_(lot), on_injected_(std::move(on_injected)), acts_(std::move(acts)) {}

void forward_faults::meet(micro_batch_id at) {
  if (std::exchange(seen_, at) == at) return;
  for (const numbered_fault& each : faults_) {
    if (is_due(each, at)) inject(each, at);
  }
}

bool forward_faults::is_due(const numbered_fault& one, micro_batch_id at) {
  const fault_trigger& when = one.what.when;
  switch (when.kind) {
    case fault_trigger_kind::always:
      break;
    case fault_trigger_kind::micro_batch:
      if (at.index != when.number) return false;
      break;
    case fault_trigger_kind::probability:
      if (draw_for(when.seed + lot_, (at.call << 40U) ^ at.index, one.number).share() >= when.probability) return false;
      break;
    default:
      return false;  // injected by others
  }
  return on_injected_(one.number, when.kind == fault_trigger_kind::micro_batch, at);
}

void forward_faults::inject(const numbered_fault& one, micro_batch_id at) {
  switch (one.what.kind) {
    case fault_kind::kill:
      return acts_.kill();
    case fault_kind::stop:
      return acts_.freeze(one.what.lasts);
    case fault_kind::exit:
      return acts_.leave();
    case fault_kind::slow:
      return std::this_thread::sleep_for(
          lateness_of(one.what, draw_for(one.what.when.seed, at.call, at.index).share()));
    case fault_kind::out_of_memory:
      return fail_to_allocate(one.what.bytes);
    case fault_kind::throw_error:
      throw std::runtime_error("injected: " + to_string(one.what));
    default:
      return;
  }
}

}  // namespace troupe
