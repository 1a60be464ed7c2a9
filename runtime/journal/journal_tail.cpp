#include "runtime/journal/journal_tail.hpp"

#include "messages/limits.hpp"

namespace troupe {

int journal_tail::put(std::span<const std::uint8_t> content, bool last, std::chrono::nanoseconds now) {
  if (!content.empty()) {
    if (const int reason = file_.write(content)) return reason;
    if (!next_sync_) next_sync_ = now + limits::journal_sync_interval;
  }
  if (!next_sync_ || (!last && now < *next_sync_)) return 0;
  next_sync_.reset();
  return syncs_ ? file_.sync() : 0;
}

}  // namespace troupe
