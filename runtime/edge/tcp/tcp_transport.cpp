#include "runtime/edge/tcp/tcp_transport.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "runtime/edge/tcp/tcp_edge.hpp"
#include "runtime/os/random_secret.hpp"

namespace troupe {
namespace {

constexpr const char* loopback = "127.0.0.1";

class tcp_transport final : public transport {
 public:
  tcp_transport(std::unique_ptr<tcp_endpoint> endpoint, const random_secret& secret)
      : endpoint_(std::move(endpoint)), secret_(secret) {}

  std::uint64_t contact() const noexcept override { return endpoint_->port(); }
  bool may_be_contact(std::uint64_t said) const noexcept override {
    return said >= 1 && said <= std::numeric_limits<std::uint16_t>::max();
  }
  bool loses_ends() const noexcept override { return true; }

  expected<edge_offer> offer(const edge_options&, edge_reach) override {
    return edge_offer{.words = {secret_.words().begin(), secret_.words().end()}};
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return key_of(site).and_then([&](const edge_key& key) {
      return endpoint_->accept(key, {site.shape, std::move(site.on_lost)});
    });
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    if (!may_be_contact(site.peer.number))
      return fail(error_code::wire_malformed, "edge", std::to_string(site.peer.number) + " is no port");
    return key_of(site).and_then([&](const edge_key& key) {
      return endpoint_->connect_later(loopback, static_cast<std::uint16_t>(site.peer.number), key,
                                      {site.shape, std::move(site.on_lost)});
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

  const std::unique_ptr<tcp_endpoint> endpoint_;
  const random_secret secret_;
};

}  // namespace

expected<std::shared_ptr<transport>> open_tcp_transport(std::shared_ptr<const payload_codec> codec,
                                                        std::optional<bool> payload_crc) {
  const auto secret = random_secret::make();
  if (!secret) return tl::make_unexpected(secret.error());
  tcp_endpoint_options options;
  options.address = loopback;
  options.codec = std::move(codec);
  options.payload_crc = payload_crc;
  return tcp_endpoint::open(std::move(options)).map([&](std::unique_ptr<tcp_endpoint>&& endpoint) {
    return std::shared_ptr<transport>(std::make_shared<tcp_transport>(std::move(endpoint), *secret));
  });
}

}  // namespace troupe
