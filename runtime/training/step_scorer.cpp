#include "runtime/training/step_scorer.hpp"

#include <bit>

#include "messages/check.hpp"
#include "runtime/training/training_loss.hpp"

namespace troupe {

expected<void> step_scorer::evaluate(const payload_ptr& outputs, const activation& input, score& into) {
  into.samples = input.samples.size();
  if (!is_first_sink_) return {};
  const auto loss = take_loss(outputs);
  TROUPE_CHECK(loss.has_value(), "the last stage of a step gives its loss");
  into.words = {std::bit_cast<std::uint64_t>(loss->sum), std::bit_cast<std::uint64_t>(loss->weight)};
  return {};
}

}  // namespace troupe
