#include "runtime/report/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr double terminal_interval_seconds = 0.1;
constexpr double pipe_interval_seconds = 1.0;
/// Without a known total, or on a long way from one tenth to the next.
constexpr double pipe_silence_seconds_max = 60.0;
constexpr std::size_t bar_columns_max = 40;
constexpr std::array<std::string_view, 8> eighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

double share(const progress_state& state) {
  return state.total == 0 ? 0.0 : std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
}

std::string filled(double part, std::size_t columns) {
  const auto steps = static_cast<std::size_t>(part * static_cast<double>(columns) * 8);
  std::string bar;
  for (std::size_t i = 0; i < steps / 8; ++i) bar += "█";
  bar += eighths.at(steps % 8);
  const std::size_t used = steps / 8 + (steps % 8 == 0 ? 0 : 1);
  return bar + std::string(columns - used, ' ');
}

std::string rate_text(const progress_state& state) {
  const double rate = state.units_per_second;
  std::string text = rate > 0 ? fmt::format("{:.1f} {}/s", rate, state.unit) : fmt::format("? {}/s", state.unit);
  if (state.faults > 0) text += fmt::format(", {} fault{}", state.faults, state.faults == 1 ? "" : "s");
  if (!state.note.empty()) text += ", " + state.note;
  return text;
}

double remaining_seconds(const progress_state& state) {
  if (state.units_per_second <= 0 || state.total < state.done) return -1;
  return static_cast<double>(state.total - state.done) / state.units_per_second;
}

}  // namespace

std::string clock_text(double seconds) {
  // The second test also keeps NaN and what no integer holds from being converted.
  if (!(seconds >= 0) || !(seconds < 1e9)) return "?";
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

std::string progress_bar(const progress_state& state, std::size_t width) {
  const std::string elapsed = clock_text(state.elapsed_seconds);
  if (state.total == 0) {
    return fmt::format("{} {} [{}, {}]", state.done, state.unit, elapsed, rate_text(state)).substr(0, width);
  }
  const std::string head = fmt::format("{:3.0f}%|", std::floor(share(state) * 100));
  const std::string tail = fmt::format("| {}/{} [{}<{}, {}]", state.done, state.total, elapsed,
                                       clock_text(remaining_seconds(state)), rate_text(state));
  const std::size_t text = head.size() + tail.size();
  if (text >= width) return (head + tail).substr(0, width);
  return head + filled(share(state), std::min(bar_columns_max, width - text)) + tail;
}

std::string progress_line(const progress_state& state) {
  if (state.total == 0) return fmt::format("{} {}, {}", state.done, state.unit, rate_text(state));
  return fmt::format("{}/{} {} ({:.0f}%), {}", state.done, state.total, state.unit, std::floor(share(state) * 100),
                     rate_text(state));
}

bool progress_printer::is_due(const progress_state& state) const {
  if (!shown_) return true;
  const double since = state.elapsed_seconds - shown_seconds_;
  if (look_.terminal) return since >= terminal_interval_seconds;
  if (since >= pipe_silence_seconds_max) return true;
  return since >= pipe_interval_seconds && static_cast<std::uint64_t>(share(state) * 10) > shown_tenths_;
}

std::string progress_printer::update(const progress_state& state) {
  last_ = state;
  any_ = true;
  if (!is_due(state)) return {};
  shown_ = true;
  shown_done_ = state.done;
  shown_seconds_ = state.elapsed_seconds;
  shown_tenths_ = static_cast<std::uint64_t>(share(state) * 10);
  if (look_.terminal) return fmt::format("\r{}\x1b[K", progress_bar(state, look_.width));
  return progress_line(state) + "\n";
}

std::string progress_printer::finish() {
  if (!any_) return {};
  if (look_.terminal) return fmt::format("\r{}\x1b[K\n", progress_bar(last_, look_.width));
  if (shown_ && shown_done_ == last_.done) return {};
  return progress_line(last_) + "\n";
}

}  // namespace troupe
