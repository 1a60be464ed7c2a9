#include "messages/try.hpp"
#include "runtime/step/learning_rate.hpp"
#include <troupe/training.hpp>

namespace troupe {

expected<std::function<double(std::uint64_t step)>> learning_rate_of(double base, const std::string& schedule) {
  const auto made = TROUPE_TRY(learning_rate::make(base, schedule));
  return [made](std::uint64_t step) { return made.at(step); };
}

}  // namespace troupe
