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

/// The counters of one stage replica at one moment, summed over all its incarnations. The difference between two
/// moments is the cost of the calls between them.
struct stage_usage {
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t forward_ns = 0;
  std::uint64_t busy_ns = 0;
};

/// The stages of a run with the work that each has done, in whichever process it lives and however often it has died.
/// Threads: any.
class stage_accounts {
 public:
  struct owner {
    std::string name;
    stage_address address;
  };
  /// In the order of wiring_plan::instances, sources aside.
  explicit stage_accounts(std::vector<owner> owners)
      : owners_(std::move(owners)), living_(owners_.size()), ended_(owners_.size()) {}

  /// Returns the telemetry of one incarnation. Any thread may call it. It must not wait, and must not use these
  /// accounts.
  using telemetry_source = std::function<stage_telemetry()>;
  /// A new incarnation of the stage begins, with `source` for its telemetry, and the one before ends.
  void add(stage_address at, telemetry_source source);
  /// The same, for an engine with this page.
  void add(stage_address at, std::shared_ptr<const engine_page> page);
  /// The newest incarnation of the stage ends. Its source is called once more for its final counts, and then dropped.
  void end(stage_address at);
  /// The telemetry of the living incarnations, in the order of the owners; nothing for a stage that has none.
  [[nodiscard]] std::vector<std::optional<stage_telemetry>> living() const;

  /// Lives as long as this process takes in a report of a stage, such as scores. Several threads may take in reports at
  /// the same time.
  class taking_in {
   public:
    explicit taking_in(stage_accounts& by) : by_(by) { by_.begun_.fetch_add(1); }
    taking_in(const taking_in&) = delete;
    taking_in& operator=(const taking_in&) = delete;
    ~taking_in() { by_.taken_in_.fetch_add(1); }

   private:
    stage_accounts& by_;
  };
  /// How many reports have been taken in so far; nothing while one is being taken in.
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
  /// The work of the incarnations that have ended.
  std::vector<stage_usage> ended_;
};

}  // namespace troupe
