// Support of the tests of nccl edges: the stand-ins for library and device, with short times, and a transport on them
// whose announcing edges connect an endpoint with itself.
#pragma once

#include <memory>

#include "../tcp/tcp_test_support.hpp"
#include "runtime/edge/nccl/nccl_transport.hpp"
#include "runtime/edge/tcp/tcp_transport.hpp"
#include "testing/nccl/late_device.hpp"
#include "testing/nccl/stand_in.hpp"

namespace troupe::testing {

inline nccl_tools stand_in_tools(std::shared_ptr<const payload_codec> codec) {
  nccl_tools tools;
  tools.library = stand_in_functions();
  tools.device = std::make_shared<late_device>();
  tools.codec = std::make_shared<const late_device_codec>(std::move(codec));
  return tools;
}

/// A transport, with its tools and the endpoint below it.
struct nccl_ground {
  explicit nccl_ground(nccl_tools given)
      : tools(std::make_shared<const nccl_tools>(std::move(given))),
        edges(std::move(*nccl_transport::open([tools = tools] { return tools; }, codec,
                                              [&](std::shared_ptr<const payload_codec> announcing) {
                                                tcp_endpoint_options options = test_options();
                                                options.codec = announcing;
                                                endpoint = must_open(std::move(options));
                                                tcp_transport_options both{std::move(announcing)};
                                                both.endpoint = endpoint;
                                                return open_tcp_transport(both);
                                              }))) {}
  nccl_ground() : nccl_ground(stand_in_tools(std::make_shared<const number_codec>())) {}

  /// Both ends look at the same place.
  [[nodiscard]] bool is_settled() const {
    const auto before = edges->settled_at();
    return before && endpoint->is_settled() && edges->settled_at() == *before + 1;
  }
  [[nodiscard]] edge_site site(const edge_offer& offer, const edge_options& shape, std::size_t channel,
                               std::function<void(const error&)> on_lost, epoch_number epoch = 1) const {
    return {.epoch = epoch,
            .channel = channel,
            .shape = shape,
            .offer = offer,
            .peer = {.node = {}, .address = {}, .number = edges->contact()},
            .peer_bell = nullptr,
            .on_lost = std::move(on_lost),
            .on_damaged = {},
            .faults = nullptr};
  }

  const std::shared_ptr<const payload_codec> codec = std::make_shared<const number_codec>();
  const std::shared_ptr<const nccl_tools> tools;
  std::shared_ptr<tcp_endpoint> endpoint;
  const std::shared_ptr<nccl_transport> edges;
};

}  // namespace troupe::testing
