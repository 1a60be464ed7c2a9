#include "runtime/watch/best_checkpoint.hpp"

#include <cmath>

namespace troupe {

bool best_checkpoint::add(const std::string& name, double value) {
  const bool improves = !std::isnan(value) && (!name_ || (larger_is_better_ ? value > value_ : value < value_));
  if (!improves) {
    ++without_improvement_;
    return false;
  }
  name_ = name;
  value_ = value;
  without_improvement_ = 0;
  return true;
}

}  // namespace troupe
