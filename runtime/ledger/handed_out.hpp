#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include <troupe/ids.hpp>

namespace troupe {

/// Which micro-batches the loader has let out of its hands, and of how many samples each: what can come back at all.
/// Written by the loader's engine, before it sends; read from any thread. The memory for a call grows with the number
/// of times that the size of its micro-batches changes, above the low-water mark.
class handed_out {
 public:
  enum class standing : std::uint8_t {
    never,  ///< of no call that has begun, or beyond the last one that was sent
    over,   ///< below the low-water mark: it may come late, and nothing depends on it any more
    out,    ///< sent, and maybe folded by now
  };
  struct micro_batch {
    standing now = standing::never;
    /// Samples of a micro-batch that is out.
    std::uint64_t samples = 0;
  };

  // --- the loader's engine ---

  /// The call's first micro-batch will have this index. Calls begin in order.
  void begin(call_number call, std::uint64_t first);
  /// About to be sent, for the first time or again. New ones of a call come in order, without gaps.
  void note(micro_batch_id id, std::uint64_t samples);
  /// The last one that was noted of its call went nowhere: the loader holds it until a receiver has room.
  void take_back(micro_batch_id id);
  /// The loader holds none any more, and none was sent.
  void let_go();
  /// Everything may be sent once more.
  void new_epoch();
  /// Everything below is folded or cancelled.
  void set_low_water(micro_batch_id mark);

  // --- any thread ---

  [[nodiscard]] micro_batch find(micro_batch_id id) const;
  /// Out, or held by the loader until a receiver has room.
  [[nodiscard]] bool is_out_or_held(micro_batch_id id) const;
  /// How many from this one on are out, of all calls.
  [[nodiscard]] std::uint64_t count_from(micro_batch_id first) const;
  /// Calls below this one have begun, or never will.
  [[nodiscard]] call_number next_call() const;
  /// No engine has received more micro-batches than this in all epochs together.
  [[nodiscard]] std::uint64_t deliveries() const;

 private:
  /// From `first` on micro-batches have so many samples, until the next run begins.
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
