#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/protocol/state_set.hpp"

namespace troupe::testing {

/// What became of an exploration.
template <class Violation>
struct verdict_of {
  Violation found = Violation::none;
  /// One of the shortest ways to it, a line per step.
  std::vector<std::string> trace;
  std::uint64_t states = 0;
  /// There were more states than allowed, so that nothing found means nothing.
  bool gave_up = false;

  [[nodiscard]] bool is_clean() const noexcept { return found == Violation::none && !gave_up; }
};

/// Visits every state of a model that can be reached, breadth first, until something is wrong. Where nothing but a
/// death could go on, the run counts as stuck: no instance may have to die for the others to proceed.
///
/// A model has the types `state` (an array of bytes), `step` (with the members `next` and `broken`) and `violation`,
/// and the functions initial(), steps(), at_rest(), is_death(), describe() and state_size().
template <class Model>
class exploration {
 public:
  using verdict = verdict_of<typename Model::violation>;

  explicit exploration(Model model) : model_(std::move(model)), seen_(model_.state_size()) {
    seen_.insert(model_.initial());
    parents_.push_back(0);
  }

  verdict run(std::uint64_t states_max) {
    for (std::uint32_t next = 0; next < seen_.size() && verdict_.is_clean(); ++next) {
      visit(next);
      verdict_.gave_up = seen_.size() > states_max;
    }
    verdict_.states = seen_.size();
    return std::move(verdict_);
  }

 private:
  using state = typename Model::state;

  [[nodiscard]] state state_at(std::uint32_t number) const {
    state found{};
    std::ranges::copy(seen_.at(number), found.begin());
    return found;
  }

  void visit(std::uint32_t number) {
    const state from = state_at(number);
    model_.steps(from, steps_);
    bool only_deaths = true;
    for (const auto& step : steps_) {
      only_deaths = only_deaths && model_.is_death(step);
      if (step.broken != Model::violation::none) {
        trace_to(number);
        verdict_.trace.push_back(model_.describe(from, step));
        verdict_.found = step.broken;
        return;
      }
      if (seen_.insert(step.next).second) parents_.push_back(number);
    }
    if (!only_deaths) return;
    verdict_.found = model_.at_rest(from);
    if (verdict_.found != Model::violation::none) trace_to(number);
  }

  void trace_to(std::uint32_t number) {
    std::vector<typename Model::step> steps;
    while (number != 0) {
      const state before = state_at(parents_[number]);
      const state after = state_at(number);
      model_.steps(before, steps);
      const auto taken = std::ranges::find(steps, after, &Model::step::next);
      verdict_.trace.push_back(model_.describe(before, *taken));
      number = parents_[number];
    }
    std::ranges::reverse(verdict_.trace);
  }

  Model model_;
  state_set seen_;
  /// By number of the state: from which it was first reached.
  std::vector<std::uint32_t> parents_;
  std::vector<typename Model::step> steps_;
  verdict verdict_;
};

}  // namespace troupe::testing
