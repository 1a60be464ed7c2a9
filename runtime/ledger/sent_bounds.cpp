#include "runtime/ledger/sent_bounds.hpp"

#include <string>

namespace troupe {

expected<void> sent_bounds::check(micro_batch_id id, std::uint64_t samples) const {
  if (id.call >= calls_.load(std::memory_order_acquire) || id.index >= indices_.load(std::memory_order_acquire)) {
    return fail(error_code::wire_malformed, "edge, " + to_string(id), "no such micro-batch was sent");
  }
  if (samples < samples_min_.load(std::memory_order_acquire) ||
      samples > samples_max_.load(std::memory_order_acquire)) {
    return fail(error_code::wire_malformed, "edge, " + to_string(id),
                "it has " + std::to_string(samples) + " samples, and none of so many was sent");
  }
  return {};
}

}  // namespace troupe
