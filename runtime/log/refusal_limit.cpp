#include "runtime/log/refusal_limit.hpp"

#include <utility>

#include "messages/limits.hpp"

namespace troupe {

std::vector<std::string> refusal_limit::take(const error& why, time_point now) {
  std::vector<std::string> lines;
  if (!began_ || now - *began_ >= limits::log_repeat_interval) {
    began_ = now;
    told_ = 0;
    if (const auto counted = std::exchange(counted_, 0); counted > 0)
      lines.push_back("refused " + std::to_string(counted) + " more connections");
  }
  if (told_ < limits::refusals_told_max) {
    ++told_;
    lines.push_back("refused a connection: " + to_string(error{why.code, why.where, why.cause, {}}));
  } else if (counted_++ == 0) {
    lines.push_back("refused more connections; they are counted for " +
                    std::to_string(limits::log_repeat_interval.count()) + " s");
  }
  return lines;
}

}  // namespace troupe
