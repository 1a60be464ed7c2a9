#include <bit>

#include "runtime/step/step_ledger.hpp"
#include "testing/simulation/driver_life.hpp"

// What a driver has where its plan trains.
namespace troupe::simulation {
namespace {

/// In place of a journal.
class noted_decisions final : public journal_appender {
 public:
  noted_decisions(recorder& seen, const nanoseconds& now) : seen_(seen), now_(now) {}
  [[nodiscard]] expected<void> append(const score&) override { return {}; }
  [[nodiscard]] expected<void> append(const step_record& step) override {
    seen_.note({.at_ns = now_.count(),
                .what = happening::decided,
                .stage = step.decision.is_applied ? 1u : 0u,
                .call = step.decision.call,
                .index = step.decision.step,
                .value = std::bit_cast<std::uint64_t>(step.decision.gradient_scale),
                .other = std::bit_cast<std::uint64_t>(step.decision.learning_rate)});
    return {};
  }

 private:
  recorder& seen_;
  const nanoseconds& now_;
};

}  // namespace

std::shared_ptr<step_ledger> driver_life::steps_of_training() {
  if (!parts_.what.trains) return nullptr;
  std::vector<stage_address> voters;
  for (const wired_instance& each : around_.wiring.instances) {
    if (each.address.stage == parts_.what.stages) continue;
    around_.weights[each.address].value = each.address.stage + 1;
    voters.push_back(each.address);
  }
  return std::make_shared<step_ledger>(std::move(voters), step_policy{.learning_rate = simulated_rate},
                                       std::make_shared<noted_decisions>(parts_.seen, around_.now));
}

}  // namespace troupe::simulation
