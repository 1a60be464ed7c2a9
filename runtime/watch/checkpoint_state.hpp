#pragma once

#include <chrono>
#include <optional>

#include "runtime/watch/checkpoint_folder.hpp"

namespace troupe {

/// How long checkpoints are waited for.
struct watch_patience {
  /// A checkpoint is whole when it has not changed for so long.
  std::chrono::milliseconds settle{1000};
  /// One that cannot be read is waited for until it has not changed for so long.
  std::chrono::milliseconds wait{60'000};
};

/// A checkpoint that has appeared, until there is a row for it in the table.
///
///   settling → ready      it has not changed for `settle`, and DeepSpeed's `latest`, if there is one, has come to it;
///                         or it has not changed for `wait`
///   ready → settling      it has changed
///   ready → doubtful      its evaluation failed, and it may still be written
///   doubtful → settling   it has changed
///   doubtful → failed     it has not changed for `wait`
///   ready → failed        its evaluation failed, and it has not changed for `wait`
///
/// An evaluation that succeeds, and leaves the stamp as it was, ends the life of this object.
class checkpoint_state {
 public:
  using time = std::chrono::steady_clock::time_point;
  enum class phase : std::uint8_t { settling, ready, doubtful, failed };

  checkpoint_state(checkpoint_stamp stamp, time now) : stamp_(stamp), unchanged_since_(now) {}

  /// What a look at the folder found. True: it has changed. `wall` is the present, by the clock of files.
  bool look(const checkpoint_stamp& stamp, bool is_unnamed, time now, std::filesystem::file_time_type wall,
            const watch_patience& patience);
  /// The evaluation of a ready checkpoint failed.
  void fail(error cause, time now, std::filesystem::file_time_type wall, const watch_patience& patience);

  [[nodiscard]] phase now() const noexcept { return phase_; }
  [[nodiscard]] const checkpoint_stamp& stamp() const noexcept { return stamp_; }
  /// Set where it failed or is doubtful.
  [[nodiscard]] const std::optional<error>& cause() const noexcept { return cause_; }

 private:
  [[nodiscard]] bool is_old(time now, std::filesystem::file_time_type wall, const watch_patience& patience) const;

  phase phase_ = phase::settling;
  checkpoint_stamp stamp_;
  time unchanged_since_;
  std::optional<error> cause_;
};

}  // namespace troupe
