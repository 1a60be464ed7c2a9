// The hop of an activation over an in-process edge between two threads that both spin: half a round trip over two edges
// (latency), and one way with the slots full (throughput). And what a stage engine adds to it. Prints one JSON object.
//
//   hop_latency [hops, 200000 by default] [slots, 2 by default]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include <immintrin.h>

#include "engine_step.hpp"
#include "messages/limits.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/os/cores.hpp"

namespace {

using namespace troupe;
using clock_type = std::chrono::steady_clock;

constexpr double budget_ns = 500;
constexpr std::uint64_t warm_up_divisor = 10;
constexpr std::uint64_t batch_size = 256;

class empty_payload final : public payload {};

/// Edges as the engines use them: with bells, on which no thread waits here.
struct spinning_edge {
  explicit spinning_edge(std::uint32_t slots) {
    ends = inproc_edge_factory().make({slots, &producer_bell, &consumer_bell, 1});
  }

  void send(activation& message) {
    while (ends.producer->try_send(message) != send_status::sent) _mm_pause();
  }
  activation take() {
    for (;;) {
      if (auto got = ends.consumer->try_receive()) {
        ends.consumer->release();
        return std::move(*got);
      }
      _mm_pause();
    }
  }

  doorbell producer_bell;
  doorbell consumer_bell;
  edge_ends ends;
};

struct latency {
  double median_ns = 0;
  double p99_ns = 0;
};

latency measure_latency(std::uint64_t hops, std::uint32_t slots) {
  spinning_edge there(slots);
  spinning_edge back(slots);
  const std::uint64_t warm_up = hops / warm_up_divisor;
  std::thread echo([&] {
    for (std::uint64_t i = 0; i < hops + warm_up; ++i) {
      activation message = there.take();
      back.send(message);
    }
  });
  std::vector<double> samples_ns;
  samples_ns.reserve(hops);
  activation message{{0, 0}, {0, 1}, std::make_shared<const empty_payload>(), nullptr};
  for (std::uint64_t i = 0; i < hops + warm_up; ++i) {
    const auto start = clock_type::now();
    there.send(message);
    message = back.take();
    const std::chrono::duration<double, std::nano> round_trip = clock_type::now() - start;
    if (i >= warm_up) samples_ns.push_back(round_trip.count() / 2);
  }
  echo.join();
  std::sort(samples_ns.begin(), samples_ns.end());
  return {samples_ns[samples_ns.size() / 2], samples_ns[samples_ns.size() * 99 / 100]};
}

/// Nanoseconds per activation: the median over batches, so that being descheduled in one of them does not count.
double measure_one_way(std::uint64_t hops, std::uint32_t slots) {
  spinning_edge edge(slots);
  const std::uint64_t batches = std::max<std::uint64_t>(1, hops / batch_size);
  std::thread producer([&] {
    const auto handle = std::make_shared<const empty_payload>();
    for (std::uint64_t i = 0; i < batches * batch_size; ++i) {
      activation message{{0, i}, {i, i + 1}, handle, nullptr};
      edge.send(message);
    }
  });
  std::vector<double> batch_ns;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    const auto start = clock_type::now();
    for (std::uint64_t i = 0; i < batch_size; ++i) (void)edge.take();
    batch_ns.push_back(std::chrono::duration<double, std::nano>(clock_type::now() - start).count());
  }
  producer.join();
  std::sort(batch_ns.begin(), batch_ns.end());
  return batch_ns[batch_ns.size() / 2] / static_cast<double>(batch_size);
}

std::uint64_t number(int argc, char** argv, int index, std::uint64_t otherwise, std::uint64_t most) {
  if (index >= argc) return otherwise;
  char* end = nullptr;
  const std::uint64_t given = std::strtoull(argv[index], &end, 10);
  if (*end == '\0' && given >= 1 && given <= most) return given;
  std::fprintf(stderr, "hop_latency: %s is not between 1 and %llu\nusage: hop_latency [hops] [slots]\n", argv[index],
               static_cast<unsigned long long>(most));
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t hops = number(argc, argv, 1, 200'000, 100'000'000);
  const auto slots =
      static_cast<std::uint32_t>(number(argc, argv, 2, limits::pipe_buffers_default, limits::pipe_buffers_max));
  const latency hop = measure_latency(hops, slots);
  const double one_way_ns = measure_one_way(hops, slots);
  std::printf(
      "{\"hops\": %llu, \"slots\": %u, \"cores\": %u, \"hop_ns\": {\"median\": %.1f, \"p99\": %.1f}, "
      "\"one_way\": {\"ns_per_activation\": %.1f, \"activations_per_second\": %.0f}, "
      "\"engine_ns\": {\"one_branch\": %.1f, \"two_branches\": %.1f}, \"budget_ns\": %.0f, \"within_budget\": %s}\n",
      static_cast<unsigned long long>(hops), slots, usable_cores(), hop.median_ns, hop.p99_ns, one_way_ns,
      1e9 / one_way_ns, bench::measure_engine_step(hops, 1), bench::measure_engine_step(hops, 2), budget_ns,
      hop.median_ns <= budget_ns ? "true" : "false");
}
