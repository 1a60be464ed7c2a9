#include "testing/simulation/judged_training.hpp"

#include <bit>

#include "testing/simulation/broken_promise.hpp"

namespace troupe::simulation {
namespace {

std::set<std::uint64_t> decided_in(const history& seen) {
  std::set<std::uint64_t> calls;
  for (const event& each : seen) {
    if (each.what == happening::decided) calls.insert(each.call);
  }
  return calls;
}

}  // namespace

judged_training::judged_training(const plan& what, const history& seen)
    : plan_(what), plain_(what.stages, what.tied, what.calls, decided_in(seen)) {}

void judged_training::decide(const event& each, std::uint64_t folded) {
  if (!is_step(plan_, each.call)) broken("steps", "call {} is decided, and is no step", each.call);
  if (!decided_.insert(each.call).second) broken("steps", "step {} is decided twice", each.call);
  const std::uint64_t count = plan_.calls.at(each.call);
  if (folded < count) broken("steps", "step {} is decided with {} of {} scores", each.call, folded, count);
  const plain_training::decision made{each.stage == 1, each.index, std::bit_cast<double>(each.value),
                                      std::bit_cast<double>(each.other)};
  if (plain_.decision_of(each.call) != made) {
    broken("same-decision", "step {} is decided otherwise than in a plain loop", each.call);
  }
}

void judged_training::end_well(std::uint64_t call) const {
  if (is_step(plan_, call) && !decided_.contains(call)) broken("steps", "step {} ended well undecided", call);
}

}  // namespace troupe::simulation
