#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "runtime/journal/step_record.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The decisions that an earlier run wrote into the journal, and that a resumed one makes again from its checkpoint on.
/// Threads: one at a time.
class step_replay {
 public:
  /// `first`: the number of the first decision behind the checkpoint. Decisions before it are left out.
  explicit step_replay(std::uint64_t first = 0) : first_(first) {}

  /// In the order of the journal.
  void expect(step_record earlier);
  /// Once all are known. E0801: the checkpoint is behind the end of the journal, which then belongs to another run.
  [[nodiscard]] expected<void> check_reach() const;

  /// Whether `again` is such a decision. It must have the bits of the earlier one, the call excepted: E0801 names step
  /// and field.
  [[nodiscard]] expected<bool> take(const step_record& again);
  /// Decisions that are still to be made again.
  [[nodiscard]] std::size_t left() const noexcept { return earlier_.size(); }

 private:
  std::uint64_t first_;
  std::optional<std::uint64_t> last_;
  std::deque<step_record> earlier_;
};

}  // namespace troupe
