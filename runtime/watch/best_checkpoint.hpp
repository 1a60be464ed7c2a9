#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// The best of a sequence of values, and how long it has been the best. A value improves on the best one if it is
/// strictly larger, or smaller; NaN improves on nothing.
class best_checkpoint {
 public:
  explicit best_checkpoint(bool larger_is_better) : larger_is_better_(larger_is_better) {}

  /// True: it is the best now.
  bool add(const std::string& name, double value);

  [[nodiscard]] const std::optional<std::string>& name() const noexcept { return name_; }
  [[nodiscard]] double value() const noexcept { return value_; }
  /// How many values came since the best one; all, where none is.
  [[nodiscard]] std::uint64_t without_improvement() const noexcept { return without_improvement_; }

 private:
  const bool larger_is_better_;
  std::optional<std::string> name_;
  double value_ = 0;
  std::uint64_t without_improvement_ = 0;
};

}  // namespace troupe
