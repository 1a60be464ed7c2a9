#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/engine/stage_engine.hpp"

namespace troupe::bench {

class handle_payload final : public payload {};

/// Hands its input on: what remains is the engine.
class handing_body final : public unary_body {
 public:
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

/// Nanoseconds for one micro-batch through a stage engine that is never idle, and over the edges on both sides: sent,
/// taken, run (nothing), sent on every one of `branches` edges, and taken there. All in one thread; the median over
/// batches.
inline double measure_engine_step(std::uint64_t micro_batches, std::uint32_t branches) {
  constexpr std::uint64_t batch_size = 256;
  inproc_edge_factory edges;
  stage_engine engine({.name = "bench", .address = {}}, std::make_shared<handing_body>());
  doorbell bell;
  auto in = edges.make({2, &bell, &engine.bell(), 1});
  engine.add_inbound(std::move(in.consumer));
  std::vector<std::unique_ptr<edge_consumer>> out;
  for (std::uint32_t branch = 0; branch < branches; ++branch) {
    auto ends = edges.make({2, &engine.bell(), &bell, 1});
    engine.outbound().add_edge(engine.outbound().add_branch({}), std::move(ends.producer));
    out.push_back(std::move(ends.consumer));
  }
  const auto handle = std::make_shared<const handle_payload>();
  std::vector<double> batch_ns;
  for (std::uint64_t done = 0; done < micro_batches; done += batch_size) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint64_t i = done; i < done + batch_size; ++i) {
      activation message{{0, i}, {i, i + 1}, handle, nullptr};
      static_cast<void>(in.producer->try_send(message));
      static_cast<void>(engine.step());
      for (auto& consumer : out) {
        static_cast<void>(consumer->try_receive());
        consumer->release();
      }
    }
    batch_ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(batch_ns);
  return batch_ns[batch_ns.size() / 2] / static_cast<double>(batch_size);
}

}  // namespace troupe::bench
