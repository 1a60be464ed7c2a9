// The sending end of an edge that cannot carry some messages, as one into another process without memory.
#pragma once

#include <stdexcept>
#include <vector>

#include "runtime/edge/edge.hpp"

namespace troupe::testing {

struct refusing_producer final : edge_producer {
  refusing_producer(call_number refused, std::vector<micro_batch_id>& into) : refused_call(refused), sent(into) {}

  [[nodiscard]] std::uint32_t credits() const noexcept override { return 1; }
  [[nodiscard]] std::uint32_t slots() const noexcept override { return 1; }
  [[nodiscard]] send_status try_send(activation& message) override {
    if (message.id.call == refused_call) throw std::runtime_error("no memory for it");
    sent.push_back(message.id);
    message = {};
    return send_status::sent;
  }
  void send_flush(call_number) noexcept override {}
  void close() noexcept override {}
  void abandon() noexcept override {}

  call_number refused_call;
  std::vector<micro_batch_id>& sent;
};

}  // namespace troupe::testing
