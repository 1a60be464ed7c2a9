#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "testing/simulation/history.hpp"

namespace troupe::simulation {

/// What a run makes, and what has to be gone with its driver. Outlives the drivers.
class left_behind {
 public:
  /// Of this kind one is kept, so that a judge that does not see it is found out.
  explicit left_behind(std::optional<leftover> planted) : planted_(planted) {}

  template <class T>
  void watch(leftover kind, const std::shared_ptr<T>& made) {
    made_.emplace_back(kind, made);
    if (is_planted(kind) && kept_.empty()) kept_.push_back(made);
  }
  [[nodiscard]] bool is_planted(leftover kind) const noexcept { return planted_ == kind; }
  /// As long as this is there.
  void keep(std::shared_ptr<void> what) { kept_.push_back(std::move(what)); }
  [[nodiscard]] std::uint64_t count(leftover kind) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        made_, [kind](const auto& each) { return each.first == kind && !each.second.expired(); }));
  }

 private:
  const std::optional<leftover> planted_;
  std::vector<std::pair<leftover, std::weak_ptr<void>>> made_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace troupe::simulation
