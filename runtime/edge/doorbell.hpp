#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

/// The two words of a bell on a cache line of their own, as neighbours write them for every message. Zero to begin
/// with. Where processes share them, they lie in memory that all of them have mapped. A damaged peer may do with them
/// what it likes: a parked engine then wakes for nothing, or not before its limit.
struct alignas(64) doorbell_words {
  std::atomic<std::uint32_t> epoch{0};
  std::atomic<std::uint32_t> parked{0};
};
static_assert(sizeof(doorbell_words) == 64);

enum class bell_reach : std::uint8_t { this_process, all_processes };

/// The futex word on which a parked engine waits. Edges of its neighbours, commands and late releases of slots ring it.
///
/// Ring: publish your change, then ring(). Park, in the engine's own thread: read epoch(), look at everything once
/// more, and if there is still nothing, wait(epoch). A ring between epoch() and wait() makes wait() return at once: no
/// wake-up is lost. ring() may be called from any thread; wait() from one.
class alignas(64) doorbell {  // its own cache line: neighbours write it for every message
 public:
  doorbell() noexcept : words_(own_), shared_(false) {}
  /// Over words that are not owned and outlive the bell; `all_processes`: that other processes have mapped, too. All
  /// bells over the same words say the same.
  explicit doorbell(doorbell_words& words, bell_reach reach = bell_reach::all_processes) noexcept
      : words_(words), shared_(reach == bell_reach::all_processes) {}
  doorbell(const doorbell&) = delete;
  doorbell& operator=(const doorbell&) = delete;

  void ring() noexcept;

  /// Announces that the caller is about to park and returns the word to wait on. Must be followed by wait() or
  /// stay_awake().
  [[nodiscard]] std::uint32_t prepare_to_park() noexcept;
  /// The second look found work: do not wait.
  void stay_awake() noexcept;
  /// Returns when the bell was rung since prepare_to_park(), at the latest after `at_most`; now and then also for
  /// nothing (a signal, or the wake of a ring that an earlier park has already answered).
  void wait(std::uint32_t epoch, std::chrono::nanoseconds at_most) noexcept;

  [[nodiscard]] std::uint32_t epoch() const noexcept { return words_.epoch.load(std::memory_order_seq_cst); }

 private:
  doorbell_words own_;
  doorbell_words& words_;
  const bool shared_;
};

}  // namespace troupe
