#include "actors/workers/send_scores.hpp"

#include <utility>

#include "messages/limits.hpp"
#include "runtime/os/clock.hpp"

namespace troupe {

void send_scores(std::vector<score> scores, current_work& work, const std::function<void(const score_batch&)>& send) {
  score_batch part;
  std::size_t words = 0;
  const auto send_part = [&] {
    if (part.scores.empty()) return;
    const bool waits = !work.working_on();
    if (waits) work.begin(part.scores.front().id, steady_now());
    send(std::exchange(part, {}));
    if (waits) work.put_down();
    words = 0;
  };
  for (score& each : scores) {
    if (words + each.words.size() > limits::score_words_max) send_part();
    words += each.words.size();
    part.scores.push_back(std::move(each));
  }
  send_part();
}

}  // namespace troupe
