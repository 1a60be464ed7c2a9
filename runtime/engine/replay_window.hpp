#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <set>

#include "messages/activation.hpp"
#include "messages/error.hpp"
#include "runtime/engine/micro_batch_source.hpp"

namespace troupe {

/// What the loader has sent and may have to send again: everything that is not folded yet, in the order of sending. Of
/// a source that reads again it keeps no tensors, so that their memory is used again while it is warm. Threads: one.
class replay_window {
 public:
  static constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

  /// At most `most` micro-batches: `most_of_large` of them whatever their size, and more while all together are smaller
  /// than limits::window_bytes, kept or not: it bounds also what is computed twice, and the scores that wait for
  /// others.
  replay_window(std::uint64_t most, std::uint64_t most_of_large);

  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }
  /// The first that is kept; not to be called while empty.
  [[nodiscard]] micro_batch_id first() const noexcept { return kept_.front().message.id; }
  /// Adds the calls that something is kept of.
  void add_calls_to(std::set<call_number>& calls) const;

  /// Keeps what was just sent, and of which `source` gave `bytes`.
  void keep(activation sent, std::uint64_t bytes, const std::shared_ptr<micro_batch_source>& source);
  /// Everything below is folded: forget() may let it go.
  void learn(micro_batch_id mark) noexcept { forgettable_ = mark; }
  /// Lets the oldest that are folded go; what is still to be sent again stays, also when a score from before the
  /// rewiring has made it superfluous: who takes ids in order was told from where.
  void forget(std::size_t at_most);
  /// Lets everything of a call go.
  void cancel(call_number call);
  void clear() noexcept;

  /// All that is kept is to be sent again, in order.
  void begin_replay() noexcept { to_replay_ = kept_.size(); }
  void end_replay() noexcept { to_replay_ = 0; }
  [[nodiscard]] bool replaying() const noexcept { return to_replay_ > 0; }
  /// Its id is known without its tensors. Both only while replaying.
  [[nodiscard]] micro_batch_id next_id() const noexcept { return next().message.id; }
  /// The next to be sent again, whole: the same one until replayed(). An error, or an exception, of its source.
  [[nodiscard]] expected<activation> next_again();
  void replayed();

 private:
  struct entry {
    activation message;
    std::uint64_t bytes = 0;
  };
  /// A source of something that is kept without its tensors.
  struct reader {
    call_number call = 0;
    std::shared_ptr<micro_batch_source> source;
  };

  [[nodiscard]] const entry& next() const noexcept { return kept_[kept_.size() - to_replay_]; }
  [[nodiscard]] entry& next() noexcept { return kept_[kept_.size() - to_replay_]; }
  [[nodiscard]] micro_batch_source* reader_of(call_number call) const noexcept;

  std::uint64_t most_;
  std::uint64_t most_of_large_;
  /// Those below forgettable_ are folded; the last to_replay_ are to be sent again.
  std::deque<entry> kept_;
  std::uint64_t kept_bytes_ = 0;
  micro_batch_id forgettable_;
  std::size_t to_replay_ = 0;
  std::deque<reader> readers_;
};

}  // namespace troupe
