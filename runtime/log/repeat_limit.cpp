#include "runtime/log/repeat_limit.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe {
namespace {

/// Enough to know the record again.
constexpr std::size_t text_told_max = 80;

bool are_equal(const log_record& one, const log_record& other) {
  return one.level == other.level && one.rank == other.rank && one.stage == other.stage && one.text == other.text;
}

/// The beginning of the first line, cut between characters.
std::string beginning_of(const std::string& text) {
  std::size_t end = std::min(text.find('\n'), text.size());
  if (end > text_told_max) {
    end = text_told_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  }
  return end < text.size() ? text.substr(0, end) + " ..." : text;
}

}  // namespace

std::vector<log_record> repeat_limit::take(log_record next) {
  std::vector<log_record> told;
  while (!seen_.empty() && next.time - seen_.front().first.time >= limits::log_repeat_interval) forget_oldest(told);
  const auto found = std::ranges::find_if(seen_, [&](const seen& each) { return are_equal(each.first, next); });
  if (found != seen_.end()) {
    ++found->repeats;
    found->last = next.time;
    return told;
  }
  if (seen_.size() == limits::log_repeats_kept) forget_oldest(told);
  seen_.push_back({next});
  told.push_back(std::move(next));
  return told;
}

std::vector<log_record> repeat_limit::finish() {
  std::vector<log_record> told;
  while (!seen_.empty()) forget_oldest(told);
  return told;
}

void repeat_limit::forget_oldest(std::vector<log_record>& told) {
  const seen& oldest = seen_.front();
  if (oldest.repeats > 0) {
    log_record summary = oldest.first;
    summary.text = "... " + std::to_string(oldest.repeats) + " more like this: " + beginning_of(oldest.first.text);
    summary.time = oldest.last;
    told.push_back(std::move(summary));
  }
  seen_.pop_front();
}

}  // namespace troupe
