#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "testing/simulation/broken_promise.hpp"
#include "testing/simulation/history.hpp"
#include "testing/simulation/plain_evaluation.hpp"
#include "testing/simulation/plan.hpp"

namespace troupe::simulation {

/// The part of the judge that is about workers, stages and edges. Throws broken_promise.
class judged_workers {
 public:
  /// `plain` outlives this.
  judged_workers(plain_evaluation& plain, const plan_limits& most);

  void hear(const event& each);
  /// Of anything that happens.
  void pass(std::int64_t at_ns);
  /// Their driver has ended.
  void forget();
  /// It stops; workers are not replaced any more.
  void fail_run() noexcept { has_failed_ = true; }
  /// Something was folded, or a call has ended.
  void progress();
  void check_left(const event& each) const;
  /// Of an answer that says that the restarts of a stage are spent.
  void check_first_death(const event& blamed);
  /// Of the same: the micro-batch that it names, or that it names none.
  using micro_batch = std::pair<std::uint64_t, std::uint64_t>;
  void check_naming(const event& blamed, const std::optional<micro_batch>& named);

  [[nodiscard]] bool died_often() const;
  [[nodiscard]] bool has_been(std::uint32_t incarnation) const { return incarnations_.contains(incarnation); }
  /// A worker of this incarnation computed the micro-batch at the node.
  [[nodiscard]] bool has_computed(std::uint32_t node, std::uint32_t incarnation, std::uint64_t call,
                                  std::uint64_t index) const {
    return computed_.contains({node, incarnation, call, index});
  }
  [[nodiscard]] bool threw(std::uint64_t call) const { return threw_.contains(call); }
  /// The forward of the call that a user's own code failed at; nothing: none.
  [[nodiscard]] std::optional<event> failed_by_itself(std::uint64_t call) const;
  [[nodiscard]] std::size_t starts_failed() const noexcept { return starts_failed_; }
  [[nodiscard]] std::size_t edges_lost() const noexcept { return edges_lost_; }

 private:
  using replica = std::pair<std::uint32_t, std::uint32_t>;
  struct seen_worker {
    bool has_ended = false;
    bool is_end_told = false;
    bool is_stage = false;
    bool is_ready = false;
    replica where;
    std::uint32_t incarnation = 0;
    std::uint64_t epoch = 0;
    std::int64_t frozen_at_ns = 0;
    std::set<std::uint64_t> blobs;
    /// In whose forward it ended.
    std::optional<micro_batch> died_of;
  };
  struct seen_replica {
    std::uint32_t holder = 0;
    bool was_held = false;
    std::uint32_t incarnation = 0;
    std::size_t deaths = 0;
    std::size_t without_progress = 0;
    /// Whose ends were told, the last one last.
    std::vector<std::uint32_t> dead = {};
    /// When the last of them were told, within a minute of each other.
    std::deque<std::int64_t> recent = {};
  };
  struct seen_edge {
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    std::uint64_t freed = 0;
  };

  [[nodiscard]] bool spent_in_window(const seen_replica& where) const;
  void hear_throw(const event& each);
  void check_forward(const event& each);
  void tell_end(const event& each, seen_worker& worker);
  void note_row(seen_replica& where);
  void become_stage(const event& each, seen_worker& worker);
  void hear_edge(const event& each, const seen_worker& worker);

  plain_evaluation& plain_;
  const plan_limits most_;
  const std::int64_t silence_ns_max_;
  const std::int64_t start_ns_max_;
  std::map<std::uint32_t, seen_worker> workers_;
  /// When each was given its place, with its number; the first of them first.
  std::deque<std::pair<std::int64_t, std::uint32_t>> given_;
  std::map<replica, seen_replica> replicas_;
  std::set<std::uint32_t> incarnations_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>> computed_;
  std::map<std::uint64_t, seen_edge> edges_;
  bool has_failed_ = false;
  std::size_t starts_failed_ = 0;
  std::size_t edges_lost_ = 0;
  /// Calls that deaths in a row gave up.
  std::set<std::uint64_t> ended_rows_;
  std::set<std::uint64_t> threw_;
  /// By call.
  std::map<std::uint64_t, event> failed_by_itself_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>, std::size_t> threw_once_;
};

}  // namespace troupe::simulation
