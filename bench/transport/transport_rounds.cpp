#include "transport_rounds.hpp"

#include <algorithm>

namespace troupe::bench {
namespace {

constexpr std::uint64_t turns_min = 8;
constexpr std::uint64_t turns_max = 50'000;
/// A stream begins with the first message's way, when nothing overlaps: this is its share at most.
constexpr std::uint64_t streamed_min = 16;
constexpr std::uint64_t streamed_max = 500'000;
/// Enough to see how long one takes, after the slots and buffers have grown.
constexpr std::uint64_t trial_messages = 8;
constexpr std::uint64_t trial_messages_of_small = 500;
constexpr std::size_t small_bytes = 256u << 10;

std::uint64_t count_for(double seconds, double seconds_each, std::uint64_t least, std::uint64_t most) {
  return static_cast<std::uint64_t>(
      std::clamp(seconds / seconds_each, static_cast<double>(least), static_cast<double>(most)));
}

/// The round that does not count.
void decide_counts(const lane& on, std::size_t bytes, const transport_options& options, transport_times& into) {
  const std::uint64_t trial = bytes <= small_bytes ? trial_messages_of_small : trial_messages;
  const double seconds_per_turn = 2 * measure_hops(on, bytes, trial).p50_us / 1e6;
  const double gb_per_s = measure_stream(on, bytes, trial);
  into.turns = count_for(options.seconds, seconds_per_turn, turns_min, turns_max);
  into.streamed = count_for(options.seconds, static_cast<double>(bytes) / gb_per_s / 1e9, streamed_min, streamed_max);
}

void measure_round(const lane& on, std::size_t bytes, transport_times& into) {
  const hop_times hops = measure_hops(on, bytes, into.turns);
  into.p50_us.push_back(hops.p50_us);
  into.p99_us.push_back(hops.p99_us);
  into.gb_per_s.push_back(measure_stream(on, bytes, into.streamed));
}

}  // namespace

transport_results measure_transports(const std::vector<lane>& lanes, const transport_options& options) {
  transport_results results;
  for (std::uint32_t round = 0; round <= options.rounds; ++round) {
    if (options.on_round) options.on_round(round);
    for (const std::size_t bytes : options.sizes) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const lane& on = lanes[(i + round) % lanes.size()];
        transport_times& into = results[on.name][bytes];
        if (round == 0) {
          decide_counts(on, bytes, options, into);
        } else {
          measure_round(on, bytes, into);
        }
      }
    }
  }
  return results;
}

}  // namespace troupe::bench
