#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ledger/call_fold.hpp"

namespace troupe::testing {

struct recording_fold final : call_fold {
  std::vector<std::uint64_t> seen;
  std::optional<std::uint64_t> fails_at;
  [[nodiscard]] expected<void> fold(const score& next) override {
    if (fails_at == next.id.index) return fail(error_code::metric_failed, "test", "asked to fail");
    seen.push_back(next.id.index);
    return {};
  }
};

inline score score_of(call_number call, std::uint64_t index, std::uint32_t sink = 0) {
  score s;
  s.id = {call, index};
  s.sink = sink;
  s.samples = 10;
  return s;
}

}  // namespace troupe::testing
