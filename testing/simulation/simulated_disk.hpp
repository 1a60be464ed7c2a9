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
#include "testing/simulation/plan.hpp"
#include "testing/simulation/timeline.hpp"

namespace troupe::simulation {

/// One file on a disk whose machine may lose what was not synced. Outlives the drivers.
class simulated_disk final : public journal_store {
 public:
  /// Of what does not fit a part is written.
  [[nodiscard]] int write(std::span<const std::uint8_t> content) override;
  void fill() noexcept { is_full_ = true; }
  /// As the error of a full disk tells its user to.
  void make_room() noexcept { is_full_ = false; }
  [[nodiscard]] int sync() override {
    synced_ = content_.size();
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
  /// One bit of a state.
  void flip_bit(chance& random);

  [[nodiscard]] const std::vector<std::uint8_t>& content() const noexcept { return content_; }

 private:
  bool is_full_ = false;
  std::vector<std::uint8_t> content_;
  std::size_t synced_ = 0;
};

/// The journal of one driver: production records, written and synced by journal_tail at the moments of virtual time at
/// which the thread of journal_writer does. What waits in it is lost with its driver.
class simulated_journal final : public journal_appender {
 public:
  simulated_journal(simulated_disk& disk, const nanoseconds& now, timeline& later, mutant broken)
      : tail_(disk, broken != mutant::journal_synced), now_(now), later_(later) {}

  [[nodiscard]] expected<void> append(const score& state) override;
  [[nodiscard]] expected<void> append(const step_record& step) override;
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

/// As create_journal() and resume_journal() do. Errors: theirs; and E0802 for a state that is none of the run's.
[[nodiscard]] expected<void> begin_journal(simulated_disk& disk);
[[nodiscard]] expected<std::vector<score>> read_journal(simulated_disk& disk, mutant broken,
                                                        const std::function<bool(const score&)>& is_ours);

}  // namespace troupe::simulation
