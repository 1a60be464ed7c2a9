#include "testing/simulation/given_plan.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "messages/try.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/inject/plan_shape.hpp"
#include "testing/simulation/graph_wiring.hpp"

namespace troupe::simulation {
namespace {

using asked_kind = troupe::fault_kind;
using target = troupe::fault_target_kind;
using trigger = troupe::fault_trigger_kind;

/// Longer than any run; its worker is replaced long before.
constexpr std::int64_t for_ever_us = 3'600'000'000;

std::int64_t in_us(std::chrono::nanoseconds time) {
  return std::min(std::chrono::round<std::chrono::microseconds>(time).count(), for_ever_us);
}

/// What a kind, a target and a trigger are together; nothing: virtual time has it not.
std::optional<fault_kind> kind_of(const troupe::fault& one) {
  struct row {
    asked_kind asked;
    target who;
    trigger when;
    fault_kind made;
  };
  static constexpr row rows[] = {
      {asked_kind::kill, target::stage, trigger::time, fault_kind::kill},
      {asked_kind::kill, target::stage, trigger::micro_batch, fault_kind::kill_in_forward},
      {asked_kind::kill, target::loader, trigger::time, fault_kind::kill_actor},
      {asked_kind::kill, target::aggregator, trigger::time, fault_kind::kill_actor},
      {asked_kind::kill, target::driver, trigger::time, fault_kind::kill_driver},
      {asked_kind::stop, target::stage, trigger::time, fault_kind::freeze},
      {asked_kind::throw_error, target::stage, trigger::micro_batch, fault_kind::throw_once},
      {asked_kind::disk_full, target::journal, trigger::time, fault_kind::fill_disk},
      {asked_kind::drop, target::edge, trigger::time, fault_kind::lose_frame},
      {asked_kind::delay, target::edge, trigger::time, fault_kind::delay_frame},
      {asked_kind::duplicate, target::edge, trigger::time, fault_kind::double_frame},
      {asked_kind::reorder, target::edge, trigger::time, fault_kind::reorder_frame},
      {asked_kind::corrupt, target::edge, trigger::time, fault_kind::damage_edge},
      {asked_kind::close, target::edge, trigger::time, fault_kind::lose_edge},
      {asked_kind::close, target::control, trigger::time, fault_kind::unlink},
      {asked_kind::drop, target::control, trigger::probability, fault_kind::lose_messages},
      {asked_kind::duplicate, target::control, trigger::probability, fault_kind::double_messages},
      {asked_kind::reorder, target::control, trigger::probability, fault_kind::reorder_messages},
  };
  for (const row& each : rows) {
    if (each.asked == one.kind && each.who == one.who.kind && each.when == one.when.kind) return each.made;
  }
  return std::nullopt;
}

tl::unexpected<error> misfit(const troupe::fault& one, const char* cause, const char* fix) {
  return fail(error_code::fault_invalid, "fault \"" + to_string(one) + "\"", cause, fix);
}

/// A forward of one replica, one way of a connection, a number of bytes, an edge for a time, a time by lot: none of
/// these is here.
bool asks_for_more(const troupe::fault& one) {
  const bool is_of_forward = one.when.kind == trigger::micro_batch;
  return (is_of_forward && one.who.replica) || one.direction || one.bytes || one.jitter ||
         (one.lasts && one.who.kind == target::edge);
}

class translation {
 public:
  explicit translation(const plan& made) : made_(made), wiring_(wiring_of(made.graph)) {
    shape_ = shape_of(wiring_, [](stage_address) { return true; });
    shape_.has_journal = made.has_journal;
    shape_.micro_batches = made.calls.front();
  }

  [[nodiscard]] expected<void> check(const troupe::fault_plan& given) const { return check_fits(given, shape_); }

  /// At least one.
  [[nodiscard]] expected<std::vector<fault>> translate(const troupe::fault& one) const {
    const auto kind = kind_of(one);
    if (!kind || asks_for_more(one)) {
      return misfit(one, "virtual time has no such fault", "troupe/simulation.hpp lists those that it has");
    }
    if (one.who.kind == target::driver && !made_.has_journal) {
      return misfit(one, "no driver comes after it without a journal", "set settings::journal");
    }
    if (one.when.kind == trigger::probability && index_of(one) == 0) {
      return misfit(one, "virtual time has no chance below a hundredth", "write p=0.01 or more");
    }
    fault made{.kind = *kind, .at_us = in_us(one.when.after)};
    if (const auto stage = find_stage(shape_, one.who.name)) made.stage = static_cast<std::uint32_t>(*stage);
    made.replica = one.who.replica.value_or(0);
    made.index = index_of(one);
    if (one.kind == asked_kind::stop || one.when.kind == trigger::probability) {
      made.for_us = one.lasts ? in_us(*one.lasts) : for_ever_us;
    }
    if (one.delay) made.for_us = in_us(*one.delay);
    for (std::size_t channel = 0; channel < wiring_.channels.size(); ++channel) {
      if (is_of_channel(one, wiring_, channel)) made.channels.push_back(channel);
    }
    if (one.who.kind != target::control) return std::vector{made};
    std::vector<fault> of_replicas(shape_.stages[made.stage].replicas, made);
    for (std::uint32_t replica = 0; replica < of_replicas.size(); ++replica) of_replicas[replica].replica = replica;
    return of_replicas;
  }

 private:
  static std::uint64_t index_of(const troupe::fault& one) {
    if (one.when.kind == trigger::probability)
      return static_cast<std::uint64_t>(std::lround(100 * one.when.probability));
    if (one.when.kind == trigger::micro_batch) return one.when.number;
    return one.who.kind == target::aggregator ? 1 : 0;
  }

  const plan& made_;
  wiring_plan wiring_;
  fault_shape shape_;
};

}  // namespace

expected<std::vector<fault>> in_virtual_time(const troupe::fault_plan& given, const plan& made) {
  const translation to(made);
  TROUPE_TRY(to.check(given));
  std::vector<fault> faults;
  for (const troupe::fault& each : given.faults()) {
    const auto some = TROUPE_TRY(to.translate(each));
    faults.insert(faults.end(), some.begin(), some.end());
  }
  return faults;
}

}  // namespace troupe::simulation
