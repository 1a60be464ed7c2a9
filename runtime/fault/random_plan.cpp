#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/fault/fault_draw.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/fault/fault_table.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Where nothing says how many there are.
constexpr std::uint64_t micro_batches_assumed = 32;
constexpr std::uint64_t steps_assumed = 4;

/// A stage dies at most so often, far below the budget of restarts.
constexpr std::size_t deaths_of_stage_max = 1;

class planner {
 public:
  planner(std::uint64_t seed, const fault_shape& shape) : draw_(seed), shape_(shape) {}

  fault_plan plan(std::size_t most) {
    fault_plan made;
    deaths_.assign(shape_.stages.size(), 0);
    const std::size_t wanted = 1 + draw_.below(std::max<std::size_t>(most, 1));
    for (std::size_t tries = 0; made.faults().size() < wanted && tries < 16 * wanted; ++tries) {
      if (auto one = next()) made.add(*one);
    }
    if (made.faults().empty()) made.add(fault{fault_kind::kill, fault_target::loader(), moment()});
    return made;
  }

 private:
  fault_trigger moment() {
    const std::uint64_t all = shape_.micro_batches == 0 ? micro_batches_assumed : shape_.micro_batches;
    return fault_trigger::micro_batch(draw_.below(all));
  }

  /// In steps that a text shows shortly.
  std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most,
                                    std::chrono::milliseconds step = 1ms) {
    const auto steps = static_cast<std::uint64_t>((most - least) / step);
    return least + static_cast<std::int64_t>(draw_.below(steps + 1)) * step;
  }

  std::optional<fault> next() {
    const bool has_places = std::ranges::any_of(shape_.places, &has_agent);
    switch (draw_.below(has_places ? 8 : 6)) {
      case 6:
      case 7:
        return of_place();
      case 0:
        return fault{fault_kind::kill, draw_.below(2) == 0 ? fault_target::loader() : fault_target::aggregator(),
                     moment()};
      case 1:
      case 2:
        return shape_.edges.empty() ? std::nullopt : of_edge();
      case 3:
        return shape_.stages.empty() ? std::nullopt : of_control();
      default:
        return shape_.stages.empty() ? std::nullopt : of_stage();
    }
  }

  /// Not the first of all, so that the run has begun.
  fault_trigger message() { return fault_trigger::message(2 + draw_.below(8)); }
  fault_trigger now_and_then() { return fault_trigger::probability_of(0.1, draw_.below(1000)); }

  /// May this stage die once more?
  bool dies(std::size_t stage) { return ++deaths_[stage] <= deaths_of_stage_max; }

  /// Not half_open: each costs --worker-timeout.
  std::optional<fault> of_edge() {
    constexpr fault_kind kinds[] = {fault_kind::delay,     fault_kind::duplicate, fault_kind::reorder,
                                    fault_kind::drop,      fault_kind::corrupt,   fault_kind::truncate,
                                    fault_kind::partition, fault_kind::close};
    const auto& [from, to] = shape_.edges[draw_.below(shape_.edges.size())];
    const auto consumer = find_stage(shape_, to);
    if (!consumer || !shape_.stages[*consumer].in_process) return std::nullopt;
    fault made{kinds[draw_.below(std::size(kinds))], fault_target::edge(from, to), message()};
    switch (made.kind) {
      case fault_kind::delay:
        made.delay = between(1ms, 20ms);
        [[fallthrough]];
      case fault_kind::duplicate:
      case fault_kind::reorder:
        made.when = now_and_then();
        return made;
      case fault_kind::partition:
        made.lasts = between(100ms, 500ms, 100ms);
        return made;
      default:
        // one of its ends may be killed for it
        const auto producer = find_stage(shape_, from);
        return dies(*consumer) && (!producer || dies(*producer)) ? std::optional(made) : std::nullopt;
    }
  }

  static bool has_agent(const fault_shape::place& one) { return !one.has_driver; }

  /// A silence far shorter than --worker-timeout, or, once in a plan, the loss of a node that others can stand in for.
  std::optional<fault> of_place() {
    std::vector<fault_shape::place> places;
    std::ranges::copy_if(shape_.places, std::back_inserter(places), &has_agent);
    const fault_shape::place& place = places[draw_.below(places.size())];
    constexpr fault_kind kinds[] = {fault_kind::stop, fault_kind::partition, fault_kind::kill};
    const fault_kind what = kinds[draw_.below(std::size(kinds))];
    fault made{what, draw_.below(2) == 0 ? fault_target::agent(place.name) : fault_target::node(place.name), moment()};
    if (what == fault_kind::kill) {
      return place.may_be_lost && !std::exchange(loses_node_, true) ? std::optional(made) : std::nullopt;
    }
    made.lasts = between(100ms, 500ms, 100ms);
    return made;
  }

  /// All but what would be nonsense, of which the worker dies.
  std::optional<fault> of_control() {
    constexpr fault_kind kinds[] = {fault_kind::delay, fault_kind::drop, fault_kind::duplicate, fault_kind::reorder};
    const fault_shape::node& node = shape_.stages[draw_.below(shape_.stages.size())];
    if (!node.in_process) return std::nullopt;
    fault made{kinds[draw_.below(std::size(kinds))], fault_target::control(node.name), now_and_then()};
    if (made.kind == fault_kind::delay) made.delay = between(1ms, 20ms);
    return made;
  }

  std::optional<fault> of_stage() {
    const std::size_t stage = draw_.below(shape_.stages.size());
    const fault_shape::node& node = shape_.stages[stage];
    fault made{kind_for(node), fault_target::stage(node.name), moment()};
    if (needs_process(made) && !dies(stage)) return std::nullopt;
    if (shape_.trains) return in_step(made, node);
    if (node.replicas > 1 && draw_.below(2) == 0) {
      made.who.replica = static_cast<replica_index>(draw_.below(node.replicas));
      // a replica sees some of the micro-batches only
      made.when = fault_trigger::probability_of(0.2, draw_.below(1000));
      if (needs_process(made)) return std::nullopt;
    }
    if (made.kind == fault_kind::stop) made.lasts = between(100ms, 500ms, 100ms);
    if (made.kind == fault_kind::slow) made.delay = between(1ms, 50ms);
    return made;
  }

  /// A training has no error that its stage can be rid of in a backward pass.
  std::optional<fault> in_step(fault made, const fault_shape::node& node) {
    constexpr fault_trigger_kind moments[] = {fault_trigger_kind::micro_batch, fault_trigger_kind::backward,
                                              fault_trigger_kind::vote,        fault_trigger_kind::decision,
                                              fault_trigger_kind::apply,       fault_trigger_kind::recovery};
    const bool throws = made.kind == fault_kind::throw_error || made.kind == fault_kind::out_of_memory;
    const std::uint64_t step = draw_.below(shape_.steps == 0 ? steps_assumed : shape_.steps);
    const std::uint64_t index = moment().number;
    made.when = fault_trigger::in_step(throws ? moments[0] : moments[draw_.below(std::size(moments))], step, index);
    const bool has_index =
        throws || made.when.kind == fault_trigger_kind::backward || made.when.kind == fault_trigger_kind::micro_batch;
    if (!has_index) made.when.number = 0;
    if (node.replicas > 1 && !has_index) made.who.replica = static_cast<replica_index>(draw_.below(node.replicas));
    if (made.kind == fault_kind::stop) made.lasts = between(100ms, 500ms, 100ms);
    if (made.kind == fault_kind::slow) made.delay = between(1ms, 50ms);
    return objection_to(made) ? std::nullopt : std::optional(made);
  }

  fault_kind kind_for(const fault_shape::node& node) {
    constexpr fault_kind inside[] = {fault_kind::throw_error, fault_kind::slow, fault_kind::out_of_memory};
    constexpr fault_kind deadly[] = {fault_kind::kill, fault_kind::stop, fault_kind::exit};
    return node.in_process && draw_.below(2) == 0 ? deadly[draw_.below(std::size(deadly))]
                                                  : inside[draw_.below(std::size(inside))];
  }

  seeded_draw draw_;
  const fault_shape& shape_;
  std::vector<std::size_t> deaths_;
  bool loses_node_ = false;
};

}  // namespace

fault_plan random_plan(std::uint64_t seed, const fault_shape& shape, std::size_t most) {
  return planner(seed, shape).plan(most);
}

}  // namespace troupe
