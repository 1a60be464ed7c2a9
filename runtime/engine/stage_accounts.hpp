#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine/engine_page.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// Counters of one stage replica at one moment, over all its incarnations; the difference of two is what a call cost.
struct stage_usage {
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t forward_ns = 0;
  std::uint64_t busy_ns = 0;
};

/// Who the stages of a run are and what each did, wherever it lives and however often it died. Threads: any.
class stage_accounts {
 public:
  struct owner {
    std::string name;
    stage_address address;
  };
  /// In the order of wiring_plan::instances, sources aside.
  explicit stage_accounts(std::vector<owner> owners)
      : owners_(std::move(owners)), pages_(owners_.size()), living_(owners_.size()) {}

  /// A new incarnation: what this page counts belongs to the stage, too.
  void add(stage_address at, std::shared_ptr<const engine_page> page);
  /// The last one that was added is over; its counts stay.
  void end(stage_address at);
  /// Pages of the incarnations that live, in the order of the owners; null for a stage without one.
  [[nodiscard]] std::vector<std::shared_ptr<const engine_page>> living() const;

  [[nodiscard]] const std::vector<owner>& owners() const noexcept { return owners_; }
  [[nodiscard]] const owner& at(stage_address address) const;
  /// In the order of the owners.
  [[nodiscard]] std::vector<stage_usage> usage() const;

 private:
  [[nodiscard]] std::size_t position_of(stage_address at) const;

  const std::vector<owner> owners_;
  mutable std::mutex mutex_;
  std::vector<std::vector<std::shared_ptr<const engine_page>>> pages_;
  std::vector<std::shared_ptr<const engine_page>> living_;
};

}  // namespace troupe
