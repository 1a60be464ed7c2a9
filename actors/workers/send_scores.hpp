#pragma once

#include <functional>
#include <vector>

#include "messages/score.hpp"
#include "messages/score_batch.hpp"
#include "runtime/telemetry/engine_page.hpp"

namespace troupe {

/// Sends scores in their order, in messages of at most limits::score_words_max words: large states (a confusion matrix
/// of thousands of classes) do not fit one message together. Encoding them takes its time, as a forward does: meanwhile
/// `work`, the engine's own, says that it works on the first one of the message, or goes on to show one in flight. On
/// the engine's thread.
void send_scores(std::vector<score> scores, current_work& work, const std::function<void(const score_batch&)>& send);

}  // namespace troupe
