#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/journal/journal_format.hpp"
#include "runtime/journal/journal_store.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "testing/simulation/timeline.hpp"

namespace troupe::simulation {

/// One file on a disk whose machine may lose what was not synced. Outlives the drivers.
class simulated_disk final : public journal_store {
 public:
  /// Mutant: a sync does nothing.
  explicit simulated_disk(bool syncs) : syncs_(syncs) {}

  /// Of what does not fit a part is written.
  [[nodiscard]] int write(std::span<const std::uint8_t> content) override;
  void fill() noexcept { is_full_ = true; }
  /// As the error of a full disk tells its user to.
  void make_room() noexcept { is_full_ = false; }
  [[nodiscard]] int sync() override {
    if (syncs_) synced_ = content_.size();
    return 0;
  }
  /// Bytes behind `size` go, as with ftruncate.
  [[nodiscard]] int cut(std::uint64_t size) override {
    content_.resize(size);
    synced_ = std::min(synced_, content_.size());
    return 0;
  }
  /// With its machine: of what was not synced some part stays, whole, cut, or as zeros.
  void lose_power(chance& random);
  /// One bit of a word of a state; `unseen`: with a checksum that fits (a mutant).
  void flip_bit(chance& random, bool unseen);

  [[nodiscard]] const std::vector<std::uint8_t>& content() const noexcept { return content_; }

 private:
  const bool syncs_;
  bool is_full_ = false;
  std::vector<std::uint8_t> content_;
  std::size_t synced_ = 0;
};

/// The journal of one driver: production records, written and synced by journal_tail at the moments of virtual time at
/// which the thread of journal_writer does. What waits in it is lost with its driver.
class simulated_journal final : public journal_appender {
 public:
  simulated_journal(simulated_disk& disk, const nanoseconds& now, timeline& later)
      : tail_(disk), now_(now), later_(later) {}

  [[nodiscard]] expected<void> append(const score& state) override;
  /// False: a part is not on the disk.
  [[nodiscard]] bool close();

 private:
  void turn();
  void put(bool last);

  journal_tail tail_;
  const nanoseconds& now_;
  timeline& later_;
  journal_format::bytes queue_;
  std::optional<error> failure_;
  bool is_closed_ = false;
};

/// As create_journal() and resume_journal() do. Errors: theirs.
[[nodiscard]] expected<void> begin_journal(simulated_disk& disk);
[[nodiscard]] expected<std::vector<score>> read_journal(simulated_disk& disk);

}  // namespace troupe::simulation
