#pragma once

#include <functional>
#include <vector>

#include "messages/score.hpp"
#include "messages/score_batch.hpp"
#include "runtime/telemetry/engine_page.hpp"

namespace troupe {

/// Sends scores in their order, in messages of at most limits::score_words_max words, because large states (such as a
/// confusion matrix of thousands of classes) do not fit into one message together. To encode them may take as long as a
/// forward. So that the engine does not look idle meanwhile, `work`, which is the engine's own, shows the first
/// micro-batch of the message, unless it shows a micro-batch in flight already. Called on the engine's thread.
void send_scores(std::vector<score> scores, current_work& work, const std::function<void(const score_batch&)>& send);

}  // namespace troupe
