// A fan_out over edges that the test holds in its hands.
#pragma once

#include <memory>
#include <vector>

#include "runtime/flow/fan_out.hpp"

namespace troupe::testing {

using outcome = fan_out::outcome;

struct fake_edge {
  std::uint32_t credits = 4;
  bool gone = false;
  /// Closes between the look at the credits and the send.
  bool closes_on_send = false;
  /// Is lost there, as the link of a tcp edge is: silent from then on.
  bool lost_on_send = false;
  std::vector<std::uint64_t> got;
  /// Those of them that came from a caller with time.
  std::vector<std::uint64_t> got_now;
  std::vector<payload_ptr> payloads;
  std::vector<call_number> ended;
  int closed = 0;
};

struct fake_producer final : edge_producer {
  explicit fake_producer(fake_edge& e) : edge(e) {}
  [[nodiscard]] std::uint32_t credits() const noexcept override { return edge.gone ? slots() : edge.credits; }
  [[nodiscard]] std::uint32_t slots() const noexcept override { return 4; }
  [[nodiscard]] send_status try_send(activation& message) override {
    edge.gone = edge.gone || edge.closes_on_send;
    if (edge.gone) return send_status::closed;
    if (edge.lost_on_send) edge.credits = 0;
    if (edge.credits == 0) return send_status::no_credit;
    --edge.credits;
    edge.got.push_back(message.id.index);
    edge.payloads.push_back(std::move(message.tensors));
    return send_status::sent;
  }
  [[nodiscard]] send_status try_send_now(activation& message) override {
    const std::uint64_t index = message.id.index;
    const send_status status = try_send(message);
    if (status == send_status::sent) edge.got_now.push_back(index);
    return status;
  }
  void send_flush(call_number call) noexcept override { edge.ended.push_back(call); }
  void close() noexcept override { ++edge.closed; }
  void abandon() noexcept override {}
  fake_edge& edge;
};

struct some_payload final : payload {};

/// A fan_out with so many replicas on each branch; branch b sends output b % outputs.
struct forked {
  explicit forked(const std::vector<std::size_t>& replicas, branch_options options = {}, std::uint32_t ports = 1) {
    edges.resize(replicas.size());
    for (std::size_t b = 0; b < replicas.size(); ++b) {
      options.port = static_cast<std::uint32_t>(b) % ports;
      const std::size_t number = outbound.add_branch(options);
      edges[b].resize(replicas[b]);
      for (fake_edge& each : edges[b]) outbound.add_edge(number, std::make_unique<fake_producer>(each));
    }
    outputs.resize(ports);
  }
  outcome send(std::uint64_t index) {
    for (activation& each : outputs) {
      each = {};
      each.id = {0, index};
      each.tensors = std::make_shared<const some_payload>();
      handles.push_back(each.tensors);
    }
    return send_outputs();
  }
  outcome send_outputs() { return outbound.send(outputs); }

  std::vector<std::vector<fake_edge>> edges;
  fan_out outbound;
  std::vector<activation> outputs;
  std::vector<payload_ptr> handles;
};

}  // namespace troupe::testing
