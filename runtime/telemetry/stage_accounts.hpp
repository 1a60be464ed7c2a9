#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "messages/stage_telemetry.hpp"
#include "runtime/telemetry/engine_page.hpp"
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
      : owners_(std::move(owners)), living_(owners_.size()), ended_(owners_.size()) {}

  /// What tells of one incarnation, when it is asked. Any thread asks; it must not wait or use these accounts.
  using telemetry_source = std::function<stage_telemetry()>;
  /// A new incarnation: what this source counts belongs to the stage, too. The one before it is over.
  void add(stage_address at, telemetry_source source);
  /// The same of an engine with this page.
  void add(stage_address at, std::shared_ptr<const engine_page> page);
  /// The last one that was added is over: it is asked once more, its counts stay, and its source is given up.
  void end(stage_address at);
  /// Telemetry of the living incarnations, in the order of the owners; nothing for a stage without one.
  [[nodiscard]] std::vector<std::optional<stage_telemetry>> living() const;

  /// As long as it lives this process takes in what a stage has reported. Other threads may take in other reports.
  class taking_in {
   public:
    explicit taking_in(stage_accounts& by) : by_(by) { by_.begun_.fetch_add(1); }
    taking_in(const taking_in&) = delete;
    taking_in& operator=(const taking_in&) = delete;
    ~taking_in() { by_.taken_in_.fetch_add(1); }

   private:
    stage_accounts& by_;
  };
  /// How many reports were taken in so far; nothing while one is.
  [[nodiscard]] std::optional<std::uint64_t> taken_in() const noexcept;

  [[nodiscard]] const std::vector<owner>& owners() const noexcept { return owners_; }
  [[nodiscard]] const owner& at(stage_address address) const;
  /// In the order of the owners.
  [[nodiscard]] std::vector<stage_usage> usage() const;

 private:
  [[nodiscard]] std::size_t position_of(stage_address at) const;
  void end_at(std::size_t position);

  const std::vector<owner> owners_;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> taken_in_{0};
  mutable std::mutex mutex_;
  std::vector<telemetry_source> living_;
  /// What those before the living ones did.
  std::vector<stage_usage> ended_;
};

}  // namespace troupe
