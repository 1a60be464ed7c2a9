#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/edge/edge.hpp"
#include "runtime/flow/engine_wiring.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include "runtime/wiring/edge_depths.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Whether the channel has edge_depths::between_stages: see there.
[[nodiscard]] bool follows_size(const wiring_plan& plan, const wired_channel& channel);

/// The slots of one channel: the consumer's num_pipe_buffers, or more (edge_depths).
[[nodiscard]] std::uint32_t slots_of(const wiring_plan& plan, const wired_channel& channel, const edge_depths& depths);

struct wiring_request {
  edge_depths depths;
  /// By instance: who takes part in this epoch.
  std::vector<bool> present;
  /// The doorbell of an instance that takes part; it outlives the edges.
  std::function<doorbell&(std::size_t instance)> bell;
};

/// Instances, of those that are there, that can do anything: every input has a producer and every output a consumer
/// among them, and where replicas are fixed all of the node are there. By instance.
[[nodiscard]] std::vector<bool> usable_instances(const wiring_plan& plan, std::vector<bool> there);

/// Every node has an instance among these.
[[nodiscard]] bool serves_every_node(const wiring_plan& plan, const std::vector<bool>& usable);

/// The edges of one instance among those present; every process computes the same of a plan.
struct instance_edges {
  struct branch {
    branch_options options;
    /// Positions in wiring_plan::channels.
    std::vector<std::size_t> channels;
  };
  std::vector<std::size_t> inbound;
  std::vector<branch> outbound;
};
[[nodiscard]] instance_edges ends_of(const wiring_plan& plan, std::size_t instance, const std::vector<bool>& present);

/// Credits and hysteresis of one channel; bells are the caller's.
[[nodiscard]] edge_options shape_of(const wiring_plan& plan, std::size_t channel, const edge_depths& depths);

/// Where the ends of channels come from. An error of either ends the wiring.
struct edge_opener {
  std::function<expected<std::unique_ptr<edge_consumer>>(std::size_t channel)> consumer;
  std::function<expected<std::unique_ptr<edge_producer>>(std::size_t channel)> producer;
};
[[nodiscard]] expected<engine_wiring> wire_instance(const wiring_plan& plan, const instance_edges& ends,
                                                    const edge_opener& make);

/// Fresh edges for one epoch, by `edges`, with both ends in this process: one wiring per instance, empty for those that
/// take no part. `present` are usable_instances() that serve every node.
[[nodiscard]] std::vector<engine_wiring> make_wiring(const wiring_plan& plan, edge_factory& edges,
                                                     const wiring_request& request);

}  // namespace troupe
