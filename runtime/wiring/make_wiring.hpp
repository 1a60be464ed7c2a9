#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/edge/edge.hpp"
#include "runtime/flow/engine_wiring.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include "runtime/wiring/edge_depths.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Whether the number of the channel's slots may be edge_depths::between_stages, by the conditions that are named
/// there.
[[nodiscard]] bool follows_size(const wiring_plan& plan, const wired_channel& channel);

/// The slots of one channel: the consumer's num_pipe_buffers, or more (edge_depths).
[[nodiscard]] std::uint32_t slots_of(const wiring_plan& plan, const wired_channel& channel, const edge_depths& depths);

struct wiring_request {
  edge_depths depths;
  /// By instance, whether it takes part in this epoch.
  std::vector<bool> present;
  /// The doorbell of an instance that takes part; it outlives the edges.
  std::function<doorbell&(std::size_t instance)> bell;
};

/// By instance, whether it can work with the others that are there: each of its inputs has a producer and each of its
/// outputs a consumer that can work, too, and where replicas are fixed all replicas of the node are there.
[[nodiscard]] std::vector<bool> usable_instances(const wiring_plan& plan, std::vector<bool> there);

/// Every node has a usable instance.
[[nodiscard]] bool serves_every_node(const wiring_plan& plan, const std::vector<bool>& usable);

/// The channels of one instance whose other end is present. Every process computes the same for the same plan.
struct instance_edges {
  struct branch {
    branch_options options;
    /// Positions in wiring_plan::channels.
    std::vector<std::size_t> channels;
  };
  std::vector<std::size_t> inbound;
  std::vector<branch> outbound;
  // Where the run trains (wired_instance).
  std::optional<std::size_t> gradients_in = std::nullopt;
  std::optional<std::size_t> gradients_out = std::nullopt;
  std::vector<std::size_t> sums_in = {};
  std::vector<std::size_t> sums_out = {};

  /// All of them, ascending.
  [[nodiscard]] std::vector<std::size_t> all() const;
};
[[nodiscard]] instance_edges ends_of(const wiring_plan& plan, std::size_t instance, const std::vector<bool>& present);

/// The options of a channel's edge. The caller adds the bells.
[[nodiscard]] edge_options shape_of(const wiring_plan& plan, std::size_t channel, const edge_depths& depths);

/// Opens the ends of channels. An error of either function ends the wiring.
struct edge_opener {
  std::function<expected<std::unique_ptr<edge_consumer>>(std::size_t channel)> consumer;
  std::function<expected<std::unique_ptr<edge_producer>>(std::size_t channel)> producer;
};
[[nodiscard]] expected<engine_wiring> wire_instance(const wiring_plan& plan, const instance_edges& ends,
                                                    const edge_opener& make);

/// Makes fresh edges for one epoch, with both ends in this process. Returns one wiring per instance, which is empty for
/// an instance that takes no part. The instances that take part are usable_instances() and serve every node.
[[nodiscard]] std::vector<engine_wiring> make_wiring(const wiring_plan& plan, edge_factory& edges,
                                                     const wiring_request& request);

}  // namespace troupe
