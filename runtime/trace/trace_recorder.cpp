#include "runtime/trace/trace_recorder.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace troupe {

void trace_recorder::record_at(std::uint64_t order, instruction_kind what, micro_batch_id id, std::uint32_t buffer) {
  if (events_.size() >= capacity_) {
    ++dropped_;
    return;
  }
  events_.push_back({order, where_, what, id, buffer});
}

expected<std::vector<trace_event>> gather_trace(std::span<const trace_recorder* const> recorders) {
  std::vector<trace_event> all;
  for (const trace_recorder* recorder : recorders) {
    if (recorder->dropped() > 0) {
      return fail(error_code::queue_full,
                  fmt::format("trace of stage {}, replica {}", recorder->where().stage, recorder->where().replica),
                  fmt::format("{} events were kept and {} dropped", recorder->events().size(), recorder->dropped()),
                  "trace fewer micro-batches: a limit (--limit), or larger ones (--micro-batch)");
    }
    all.insert(all.end(), recorder->events().begin(), recorder->events().end());
  }
  std::sort(all.begin(), all.end(), [](const trace_event& a, const trace_event& b) { return a.order < b.order; });
  return all;
}

}  // namespace troupe
