#include "measure.hpp"

#include <algorithm>

namespace troupe::bench {
namespace {

using clock_type = std::chrono::steady_clock;

/// Also for the whole of a measurement, whose messages have limits of their own.
constexpr std::chrono::minutes answer_limit{5};
constexpr std::uint64_t warm_up_min = 2;
constexpr std::uint64_t warm_up_share = 20;

void order_peer(const lane& on, const std::string& verb, std::size_t bytes, std::uint64_t count) {
  if (on.peer == nullptr) return;
  on.peer->say(verb + " " + on.name + " " + std::to_string(bytes) + " " + std::to_string(count));
  on.peer->hear_word("ready", answer_limit);
}

void turn(const lane& on, std::size_t bytes) {
  on.end->send();
  expect_source(on.end->receive(), bytes);
}

clock_type::time_point done_at(dialogue& peer) {
  const auto words = words_of(peer.hear(answer_limit).tag);
  if (words.size() != 2 || words[0] != "done") throw transport_failure("the peer did not say when it was done");
  return clock_type::time_point(std::chrono::nanoseconds(std::stoll(words[1])));
}

/// The clock is the same in all processes of a machine.
clock_type::time_point stream_all(const lane& on, std::size_t bytes, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    on.end->send();
    if (on.peer == nullptr) expect_source(on.end->receive(), bytes);
  }
  return on.peer != nullptr ? done_at(*on.peer) : clock_type::now();
}

}  // namespace

hop_times measure_hops(const lane& on, std::size_t bytes, std::uint64_t turns) {
  const std::uint64_t warm_up = std::max(warm_up_min, turns / warm_up_share);
  const std::uint64_t all = warm_up + turns;
  on.end->begin({bytes, all, all});
  order_peer(on, "ping", bytes, all);
  const double hops_per_turn = on.peer != nullptr ? 2 : 1;
  std::vector<double> samples_us;
  samples_us.reserve(turns);
  for (std::uint64_t i = 0; i < all; ++i) {
    const auto start = clock_type::now();
    turn(on, bytes);
    const std::chrono::duration<double, std::micro> taken = clock_type::now() - start;
    if (i >= warm_up) samples_us.push_back(taken.count() / hops_per_turn);
  }
  on.end->end();
  std::sort(samples_us.begin(), samples_us.end());
  return {samples_us[samples_us.size() / 2], samples_us[samples_us.size() * 99 / 100]};
}

double measure_stream(const lane& on, std::size_t bytes, std::uint64_t count) {
  on.end->begin({bytes, count + 1, 1});
  order_peer(on, "stream", bytes, count);
  turn(on, bytes);
  const auto start = clock_type::now();
  const std::chrono::duration<double, std::nano> taken = stream_all(on, bytes, count) - start;
  on.end->end();
  return static_cast<double>(bytes) * static_cast<double>(count) / taken.count();
}

}  // namespace troupe::bench
