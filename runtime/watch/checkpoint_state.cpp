#include "runtime/watch/checkpoint_state.hpp"

#include <utility>

namespace troupe {

/// A file that was there long before the watch began need not be watched for so long.
bool checkpoint_state::is_old(time now, std::filesystem::file_time_type wall, const watch_patience& patience) const {
  return now - unchanged_since_ >= patience.wait || wall - stamp_.newest >= patience.wait;
}

bool checkpoint_state::look(const checkpoint_stamp& stamp, bool is_unnamed, time now,
                            std::filesystem::file_time_type wall, const watch_patience& patience) {
  if (stamp != stamp_) {
    stamp_ = stamp;
    unchanged_since_ = now;
    cause_.reset();
    phase_ = phase::settling;
    return true;
  }
  const bool is_settled = now - unchanged_since_ >= patience.settle;
  if (phase_ == phase::settling && is_settled && (!is_unnamed || is_old(now, wall, patience))) phase_ = phase::ready;
  if (phase_ == phase::doubtful && is_old(now, wall, patience)) phase_ = phase::failed;
  return false;
}

void checkpoint_state::fail(error cause, time now, std::filesystem::file_time_type wall,
                            const watch_patience& patience) {
  cause_ = std::move(cause);
  phase_ = is_old(now, wall, patience) ? phase::failed : phase::doubtful;
}

}  // namespace troupe
