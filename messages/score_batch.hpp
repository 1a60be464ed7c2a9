#pragma once

#include <vector>

#include "messages/score.hpp"

namespace troupe {

/// last stage -> aggregator, over the control plane: scores in the order the stage made them, at most
/// limits::scores_per_message_max. Sent when full, at the end of a call, and after limits::score_delay_max at the
/// latest. No reply; the low-water mark is the acknowledgement. Duplicates and old incarnations are dropped.
struct score_batch {
  std::vector<score> scores;
};

}  // namespace troupe
