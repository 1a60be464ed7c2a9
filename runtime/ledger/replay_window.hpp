#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <set>

#include "messages/activation.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The micro-batches that the loader has sent and may have to send again: all that are not folded, in the order of
/// sending. Where the source can read a micro-batch again, its tensors are not kept, so that their memory is reused
/// while it is in the caches. Threads: one.
class replay_window {
 public:
  static constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

  /// There is room for `min_count` micro-batches of any size, and for up to `max_count` as long as their payloads
  /// together stay below limits::window_bytes. Bytes count even if the tensors are not kept, because the window also
  /// bounds how much work a replay repeats, and how many scores wait for earlier ones.
  replay_window(std::uint64_t max_count, std::uint64_t min_count);

  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  /// The oldest id. The window is not empty.
  [[nodiscard]] micro_batch_id first() const noexcept { return kept_.front().message.id; }
  /// Adds the calls of all entries.
  void add_calls_to(std::set<call_number>& calls) const;

  /// Adds a sent micro-batch of `bytes` bytes from `source`.
  void keep(activation sent, std::uint64_t bytes, const std::shared_ptr<micro_batch_source>& source);
  /// Everything below `mark` is folded; forget() may remove it.
  void set_low_water(micro_batch_id mark) noexcept { forgettable_ = mark; }
  /// Removes up to `at_most` of the oldest folded entries. Entries that a replay has still to send stay, also if they
  /// were folded meanwhile: consumers that take ids in order were told the first id of the replay and wait for it.
  void forget(std::size_t at_most);
  /// Removes all entries of a call.
  void cancel(call_number call);
  void clear() noexcept;

  /// Begins a replay: all entries are to be sent again, in order.
  void begin_replay() noexcept { to_replay_ = kept_.size(); }
  void end_replay() noexcept { to_replay_ = 0; }
  [[nodiscard]] bool replaying() const noexcept { return to_replay_ > 0; }
  /// The next id of the replay, without reading its tensors. Only while replaying.
  [[nodiscard]] micro_batch_id next_id() const noexcept { return next().message.id; }
  /// The next micro-batch of the replay, with its tensors; the same one until replayed() is called. Errors and
  /// exceptions are those of the source.
  [[nodiscard]] expected<activation> next_replay();
  void replayed();

 private:
  struct entry {
    activation message;
    std::uint64_t bytes = 0;
  };
  /// The source of entries without tensors.
  struct reader {
    call_number call = 0;
    std::shared_ptr<micro_batch_source> source;
  };

  [[nodiscard]] const entry& next() const noexcept { return kept_[kept_.size() - to_replay_]; }
  [[nodiscard]] entry& next() noexcept { return kept_[kept_.size() - to_replay_]; }
  [[nodiscard]] micro_batch_source* reader_of(call_number call) const noexcept;

  std::uint64_t max_count_;
  std::uint64_t min_count_;
  /// Entries below forgettable_ are folded. The last to_replay_ entries are still to be sent again.
  std::deque<entry> kept_;
  std::uint64_t kept_bytes_ = 0;
  micro_batch_id forgettable_;
  std::size_t to_replay_ = 0;
  std::deque<reader> readers_;
};

}  // namespace troupe
