#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <troupe/ids.hpp>

namespace troupe {

/// Which micro-batches the loader has sent, and how many samples each of them has. A score or activation of any other
/// micro-batch cannot be true. The loader's engine writes it before it sends; any thread may read. Successive
/// micro-batches of the same size take one entry, and entries below the low-water mark are dropped.
class handed_out {
 public:
  enum class standing : std::uint8_t {
    never,  ///< it was never sent
    over,   ///< it is below the low-water mark: it may still arrive, and is ignored
    out,    ///< it was sent, and may be folded by now
  };
  struct micro_batch {
    standing now = standing::never;
    /// The number of samples, if it is `out`.
    std::uint64_t samples = 0;
  };

  // --- for the loader's engine ---

  /// The call begins, and its first micro-batch will have the index `first`. Calls begin in order.
  void begin(call_number call, std::uint64_t first);
  /// The micro-batch is about to be sent, for the first time or again. The first times are in the order of ids, without
  /// gaps within a call.
  void note(micro_batch_id id, std::uint64_t samples);
  /// This micro-batch, the last one of its call that was noted, was not sent: the loader holds it until a receiver has
  /// room.
  void take_back(micro_batch_id id);
  /// The loader has dropped the micro-batch that it held.
  void let_go();
  /// A new epoch begins: a micro-batch that was noted last may be noted again, as another delivery.
  void new_epoch();
  /// All micro-batches below `mark` are folded or cancelled.
  void set_low_water(micro_batch_id mark);

  // --- for any thread ---

  [[nodiscard]] micro_batch find(micro_batch_id id) const;
  /// The micro-batch is `out`, or the loader holds it until a receiver has room.
  [[nodiscard]] bool is_out_or_held(micro_batch_id id) const;
  /// How many micro-batches from `first` on were sent, over all calls.
  [[nodiscard]] std::uint64_t count_from(micro_batch_id first) const;
  /// All calls below this one have begun, or were cancelled before.
  [[nodiscard]] call_number next_call() const;
  /// How many micro-batches were sent in all epochs together. No engine can have received more.
  [[nodiscard]] std::uint64_t deliveries() const;

 private:
  /// Successive micro-batches of equal size: from the index `first` to the beginning of the next run.
  struct run {
    std::uint64_t first = 0;
    std::uint64_t samples = 0;
  };
  struct sent_call {
    std::uint64_t first = 0;
    std::uint64_t next = 0;
    std::deque<run> runs;
  };

  [[nodiscard]] micro_batch find_locked(micro_batch_id id) const;

  mutable std::mutex mutex_;
  std::map<call_number, sent_call> calls_;
  call_number next_call_ = 0;
  std::optional<micro_batch_id> last_noted_;
  std::optional<micro_batch_id> held_;
  std::uint64_t deliveries_ = 0;
};

}  // namespace troupe
