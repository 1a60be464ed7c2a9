#pragma once

#include <vector>

#include "messages/score.hpp"

namespace troupe {

/// A stage that serves a sink -> aggregator, over the control plane: scores in the order in which the stage made them,
/// at most limits::scores_per_message_max. Sent when full, at the end of a call, and limits::score_delay_max after its
/// first score at the latest. No reply: the low-water mark is the acknowledgement. The aggregator drops scores that are
/// folded already; a score counts also if its stage has been replaced since.
struct score_batch {
  std::vector<score> scores;
};

}  // namespace troupe
