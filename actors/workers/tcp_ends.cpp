#include "actors/workers/tcp_ends.hpp"

#include <cstring>
#include <utility>

#include "runtime/process/run_token.hpp"

namespace troupe {
namespace {

constexpr const char* loopback = "127.0.0.1";

tcp_edge_options options_for(epoch_number epoch, const edge_options& shape, tcp_ends::loss_handler on_lost) {
  return {shape, [epoch, on_lost = std::move(on_lost)](const error& why) { on_lost(epoch, why); }};
}

}  // namespace

expected<std::shared_ptr<tcp_ends>> tcp_ends::open(std::shared_ptr<const payload_codec> codec,
                                                   std::optional<bool> payload_crc) {
  tcp_endpoint_options options;
  options.address = loopback;
  options.codec = std::move(codec);
  options.payload_crc = payload_crc;
  auto endpoint = tcp_endpoint::open(std::move(options));
  if (!endpoint) return tl::make_unexpected(endpoint.error());
  return std::shared_ptr<tcp_ends>(new tcp_ends(std::move(*endpoint)));
}

expected<edge_secret> tcp_ends::make_secret() {
  return run_token::make().map([](const run_token& token) {
    edge_secret secret{};
    static_assert(sizeof(secret) == run_token::size);
    std::memcpy(secret.data(), token.bytes().data(), sizeof(secret));
    return secret;
  });
}

edge_key tcp_ends::key(epoch_number epoch, std::size_t channel) const {
  return {.run = secret_, .edge = static_cast<std::uint32_t>(channel), .epoch = epoch, .incarnation = 0};
}

expected<std::unique_ptr<edge_consumer>> tcp_ends::accept(epoch_number epoch, std::size_t channel,
                                                          const edge_options& shape, loss_handler on_lost) {
  return endpoint_->accept(key(epoch, channel), options_for(epoch, shape, std::move(on_lost)));
}

expected<std::unique_ptr<edge_producer>> tcp_ends::connect(epoch_number epoch, std::size_t channel, std::uint16_t port,
                                                           const edge_options& shape, loss_handler on_lost) {
  return endpoint_->connect_later(loopback, port, key(epoch, channel), options_for(epoch, shape, std::move(on_lost)));
}

}  // namespace troupe
