#include "runtime/edge/doorbell.hpp"

#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace troupe {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4,
              "the futex is the atomic's own word");

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

// A private futex is found by its address, a shared one by the page behind it: dearer, but the same in all processes.
int wake_operation(bool shared) noexcept {
  return shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE;
}
int wait_operation(bool shared) noexcept {
  return shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
}

}  // namespace

// No wake-up is lost.
//
//   ring                                     park (one thread)
//   R0  publish the change                   P1  e := epoch          (seq_cst)
//   R1  epoch += 1          (seq_cst)        P2  parked := 1         (seq_cst)
//   R2  if parked != 0      (seq_cst)        P3  look at everything again; found something: stay awake
//   R3      futex_wake(epoch)                P4  futex_wait(epoch, e): sleeps only if epoch is still e
//
// Claim: if R0 happened and P3 did not see it, the parker does not sleep through it. R1, R2, P1, P2 have one order.
//
// 1. R1 before P1. P1 synchronises with R1, so P3 sees R0.
// 2. P1 before R1, and R2 reads 1. The ringer calls futex_wake after R1. The kernel compares and sleeps in one step:
//    either R3 wakes the sleeper, or P4 finds a new epoch and returns.
// 3. P1 before R1, and R2 reads 0. R2, and so R1, precedes P2. P4 finds a new epoch and returns.
//
// Only the parker resets `parked`: a late ringer could clear the flag of the next park, and the ring after it would
// not wake.
void doorbell::ring() noexcept {
  words_.epoch.fetch_add(1, std::memory_order_seq_cst);
  if (words_.parked.load(std::memory_order_seq_cst) != 0) futex(words_.epoch, wake_operation(shared_), 1, nullptr);
}

std::uint32_t doorbell::prepare_to_park() noexcept {
  const std::uint32_t epoch = words_.epoch.load(std::memory_order_seq_cst);
  words_.parked.store(1, std::memory_order_seq_cst);
  return epoch;
}

void doorbell::stay_awake() noexcept {
  words_.parked.store(0, std::memory_order_relaxed);
}

void doorbell::wait(std::uint32_t epoch, std::chrono::nanoseconds at_most) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec timeout{seconds.count(), (at_most - seconds).count()};
  // A signal or a spurious wake-up only makes the engine look around once more.
  futex(words_.epoch, wait_operation(shared_), epoch, &timeout);
  words_.parked.store(0, std::memory_order_relaxed);
}

}  // namespace troupe
