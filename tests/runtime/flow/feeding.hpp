// A gather with the sending ends of all its edges, for one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/gather.hpp"

namespace troupe::testing {

inline constexpr gather_options in_order{.ports = 1, .keeps_order = true};
inline constexpr gather_options two_ports{.ports = 2, .keeps_order = true};

/// Every part carries the number of the edge it came by, as its first sample.
struct feeding {
  /// `ports`: of each edge, the port it leads into.
  feeding(gather_options options, const std::vector<std::size_t>& ports, std::uint32_t slots = 4) : inbound(options) {
    for (const std::size_t port : ports) add(port, slots);
  }

  void add(std::size_t port, std::uint32_t slots = 4) {
    edge_ends ends = inproc_edge_factory{}.make({.slots = slots, .producer_bell = nullptr, .consumer_bell = nullptr});
    producers.push_back(std::move(ends.producer));
    inbound.add_edge(port, std::move(ends.consumer));
  }

  [[nodiscard]] bool send(std::size_t edge, micro_batch_id id) {
    activation message;
    message.id = id;
    message.samples = {edge, edge + 1};
    return producers[edge]->try_send(message) == send_status::sent;
  }
  void flush(std::size_t edge, call_number call) { producers[edge]->send_flush(call); }
  [[nodiscard]] std::uint32_t credits(std::size_t edge) const { return producers[edge]->credits(); }

  /// "0.3 by 1, 0.3 by 2": ids and edges of the parts that were taken; empty if there were none. Releases them.
  std::string take() {
    std::string text = hold();
    if (!text.empty()) inbound.release();
    return text;
  }
  /// The same, and the slots stay in use.
  std::string hold() {
    std::vector<activation> parts;
    if (!inbound.take(parts)) return {};
    std::string text;
    for (const activation& part : parts) {
      text += (text.empty() ? "" : ", ") + std::to_string(part.id.call) + "." + std::to_string(part.id.index) + " by " +
              std::to_string(part.samples.begin);
    }
    return text;
  }

  gather inbound;
  std::vector<std::unique_ptr<edge_producer>> producers;
};

}  // namespace troupe::testing
