#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <troupe/scalars.hpp>

namespace troupe {

/// Which scalars a target has.
class written_scalars {
 public:
  static constexpr std::size_t count_max = 500'000;

  void add(const std::string& name, std::uint64_t step) { count_ += steps_[name].insert(step).second ? 1U : 0U; }
  [[nodiscard]] bool is_full() const noexcept { return count_ > count_max; }

  /// Those that the target lacks; of those with the same name the first.
  [[nodiscard]] std::vector<scalar> missing(std::uint64_t step, std::span<const scalar> of) const {
    std::vector<scalar> found;
    std::unordered_set<std::string> seen;
    for (const scalar& each : of) {
      const auto steps = steps_.find(each.name);
      const bool is_there = steps != steps_.end() && steps->second.contains(step);
      if (!is_there && seen.insert(each.name).second) found.push_back(each);
    }
    return found;
  }

 private:
  std::unordered_map<std::string, std::unordered_set<std::uint64_t>> steps_;
  std::size_t count_ = 0;
};

}  // namespace troupe
