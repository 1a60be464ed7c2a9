#include "runtime/edge/tcp/tcp_transport.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "messages/try.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/os/random_secret.hpp"

namespace troupe {
namespace {

constexpr const char* loopback = "127.0.0.1";

class tcp_transport final : public transport {
 public:
  tcp_transport(std::shared_ptr<tcp_endpoint> endpoint, const random_secret& secret, bool has_network)
      : endpoint_(std::move(endpoint)), secret_(secret), has_network_(has_network) {}

  std::uint64_t contact() const noexcept override { return endpoint_->port(); }
  bool may_be_contact(std::uint64_t said) const noexcept override {
    return said >= 1 && said <= std::numeric_limits<std::uint16_t>::max();
  }
  bool loses_ends() const noexcept override { return true; }
  bool has_thread() const noexcept override { return true; }

  expected<edge_offer> offer(const edge_options&, edge_reach) override {
    return edge_offer{.words = {secret_.words().begin(), secret_.words().end()}};
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return key_of(site).and_then([&](const edge_key& key) { return endpoint_->accept(key, end_of(std::move(site))); });
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    if (!may_be_contact(site.peer.number))
      return fail(error_code::wire_malformed, "edge", std::to_string(site.peer.number) + " is no port");
    return key_of(site).and_then([&](const edge_key& key) {
      const std::string address = site.peer.address.empty() ? loopback : site.peer.address;
      const auto port = static_cast<std::uint16_t>(site.peer.number);
      return endpoint_->connect_later(address, port, key, end_of(std::move(site)));
    });
  }

 private:
  static expected<edge_key> key_of(const edge_site& site) {
    edge_key key{.edge = static_cast<std::uint32_t>(site.channel), .epoch = site.epoch};
    if (site.offer.words.size() != key.run.size())
      return fail(error_code::wire_malformed, "edge", "it comes without its secret");
    std::ranges::copy(site.offer.words, key.run.begin());
    return key;
  }
  [[nodiscard]] tcp_edge_options end_of(edge_site site) const {
    return {.edge = site.shape,
            .on_lost = std::move(site.on_lost),
            .arrived_bytes = std::move(site.arrived_bytes),
            .peer = has_network_ ? std::optional(std::move(site.peer.node)) : std::nullopt,
            .faults = std::move(site.faults),
            .peer_address = site.peer.address.empty() ? loopback : site.peer.address};
  }

  const std::shared_ptr<tcp_endpoint> endpoint_;
  const random_secret secret_;
  const bool has_network_;
};

expected<std::shared_ptr<tcp_endpoint>> open_endpoint(const tcp_transport_options& asked) {
  if (asked.endpoint) return asked.endpoint;
  tcp_endpoint_options options;
  options.address = loopback;
  options.codec = asked.codec;
  options.payload_crc = asked.payload_crc;
  if (asked.network) {
    options.address = asked.network->address;
    options.tls = asked.network->credentials;
    options.node_of = asked.network->node_of;
  } else if (asked.silence) {
    options.silence_timeout = *asked.silence;
    options.keep_alive = std::min(limits::tcp_keep_alive, *asked.silence / limits::heartbeats_per_timeout);
  }
  return tcp_endpoint::open(std::move(options)).map([](std::unique_ptr<tcp_endpoint>&& made) {
    return std::shared_ptr<tcp_endpoint>(std::move(made));
  });
}

}  // namespace

expected<std::shared_ptr<transport>> open_tcp_transport(const tcp_transport_options& options) {
  const auto secret = TROUPE_TRY(random_secret::make());
  const bool has_network = options.network != nullptr || options.endpoint != nullptr;
  return open_endpoint(options).map([&](const std::shared_ptr<tcp_endpoint>& endpoint) {
    return std::shared_ptr<transport>(std::make_shared<tcp_transport>(endpoint, secret, has_network));
  });
}

}  // namespace troupe
