#include "tests/protocol/explorer.hpp"

#include <algorithm>
#include <array>

#include "tests/protocol/state_set.hpp"

namespace troupe::testing {
namespace {

class exploration {
 public:
  exploration(const flow_graph& graph, const protocol_options& options)
      : model_(graph, options), seen_(model_.state_size()) {
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
  void visit(std::uint32_t number) {
    const protocol_state state = seen_.at(number);
    model_.steps(state, steps_);
    bool only_deaths = true;
    for (const protocol_step& step : steps_) {
      only_deaths = only_deaths && model_.is_death(step);
      if (step.broken != violation::none) {
        trace_to(number);
        verdict_.trace.push_back(model_.describe(state, step));
        verdict_.found = step.broken;
        return;
      }
      if (seen_.insert(step.next).second) parents_.push_back(number);
    }
    if (!only_deaths) return;
    verdict_.found = model_.at_rest(state);
    if (verdict_.found != violation::none) trace_to(number);
  }

  void trace_to(std::uint32_t number) {
    std::vector<protocol_step> steps;
    while (number != 0) {
      const protocol_state before = seen_.at(parents_[number]);
      const protocol_state after = seen_.at(number);
      model_.steps(before, steps);
      const auto taken = std::ranges::find(steps, after, &protocol_step::next);
      verdict_.trace.push_back(model_.describe(before, *taken));
      number = parents_[number];
    }
    std::ranges::reverse(verdict_.trace);
  }

  protocol_model model_;
  state_set seen_;
  /// By number of the state: from which it was first reached.
  std::vector<std::uint32_t> parents_;
  std::vector<protocol_step> steps_;
  verdict verdict_;
};

}  // namespace

verdict explore(const flow_graph& graph, const protocol_options& options, std::uint64_t states_max) {
  return exploration(graph, options).run(states_max);
}

const char* name_of(violation found) noexcept {
  static constexpr std::array names = {"nothing",      "deadlock",         "lost part",     "repeated part",
                                       "folded twice", "mismatched parts", "overfull edge", "out of order"};
  return names[static_cast<std::size_t>(found)];
}

std::string explain(const flow_graph& graph, const protocol_options& options, const verdict& found) {
  std::string text = std::string(name_of(found.found)) + (found.gave_up ? " (gave up)" : "") + " in " +
                     to_string(graph) + ", " + std::to_string(options.credits) + " credits, " +
                     std::to_string(options.micro_batches) + " micro-batches" + (options.one_dies ? ", one dies" : "") +
                     ", " + std::to_string(found.states) + " states";
  for (const std::string& line : found.trace) text += "\n  " + line;
  return text;
}

}  // namespace troupe::testing
