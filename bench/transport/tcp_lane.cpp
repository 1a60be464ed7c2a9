// Two tcp edges, there and back, between two endpoints on loopback; with TLS, under credentials made for the run.
#include <fstream>
#include <iterator>
#include <random>

#include <nlohmann/json.hpp>

#include "block_codec.hpp"
#include "edge_lane.hpp"
#include "lanes.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/join/job_authority.hpp"
#include "runtime/join/node_identity.hpp"
#include "runtime/process/memory_file.hpp"

namespace troupe::bench {
namespace {

constexpr const char* loopback = "127.0.0.1";
constexpr std::uint32_t edge_there = 1;
constexpr std::uint32_t edge_back = 2;

/// Keys travel through memory only.
memory_file file_of(const tls_credentials& given) {
  const nlohmann::json text{{"certificate", given.certificate}, {"key", given.key}, {"ca", given.ca}};
  return must(memory_file::make("troupe-credentials", text.dump()));
}

tls_credentials read_credentials(int fd) {
  std::ifstream in(memory_file::path_of(fd));
  const auto json = nlohmann::json::parse(in);
  return {json.at("certificate"), json.at("key"), json.at("ca")};
}

/// Of the other side: a node of the job. It has its key from here, as both sides are processes of one benchmark.
tls_credentials credentials_of_peer(const job_authority& authority) {
  const auto identity = must(node_identity::make());
  const std::string certificate = must(authority.issue(must(identity.request()), "peer"));
  return must(identity.credentials(certificate, authority.certificate(), must(peer_name::of_node("peer"))));
}

/// One side's endpoint, and the edge on which it receives, which is accepted before the other side is told the port.
class tcp_half {
 public:
  tcp_half(tcp_variant variant, std::optional<tls_credentials> tls, const edge_key& in) {
    tcp_endpoint_options options;
    options.tls = std::move(tls);
    options.codec = std::make_shared<const block_codec>();
    options.payload_crc = variant.crc;
    endpoint_ = must(tcp_endpoint::open(std::move(options)));
    consumer_ = must(endpoint_->accept(in, edge_options_of(nullptr, bell_.get())));
  }

  [[nodiscard]] std::uint16_t port() const { return endpoint_->port(); }

  [[nodiscard]] std::unique_ptr<lane_end> connect(std::uint16_t port, const edge_key& out, patience wait) {
    wait.spin = {};  // as a stage whose edges have a thread (transport::has_thread())
    auto producer = must(endpoint_->connect(loopback, port, out, edge_options_of(bell_.get(), nullptr)));
    return make_edge_lane({std::move(endpoint_), bell_, trouble_, std::move(producer), std::move(consumer_)},
                          std::move(wait));
  }

 private:
  [[nodiscard]] tcp_edge_options edge_options_of(doorbell* producer_bell, doorbell* consumer_bell) const {
    return {{credits, producer_bell, consumer_bell, 1}, [told = trouble_](const error& why) { told->put(why); }};
  }

  const std::shared_ptr<doorbell> bell_ = std::make_shared<doorbell>();
  const std::shared_ptr<edge_trouble> trouble_ = std::make_shared<edge_trouble>();
  std::shared_ptr<tcp_endpoint> endpoint_;
  std::unique_ptr<edge_consumer> consumer_;
};

class tcp_lane_kind final : public lane_kind {
 public:
  tcp_lane_kind(std::string name, tcp_variant variant) : lane_kind(std::move(name)), variant_(variant) {}

  std::unique_ptr<lane_end> open(lane_side& driver) const override {
    std::random_device random;
    const std::array<std::uint64_t, 2> token{random(), random()};
    std::optional<job_authority> authority;
    if (variant_.tls) authority = must(job_authority::make());
    tcp_half half(variant_, authority ? std::optional(must(authority->make_driver_credentials())) : std::nullopt,
                  {token, edge_back});
    const std::string text = "join " + name() + " " + std::to_string(half.port()) + " " + std::to_string(token[0]) +
                             " " + std::to_string(token[1]);
    if (authority) {
      const memory_file secret = file_of(credentials_of_peer(*authority));
      driver.other.say(text, {secret.fd()});
    } else {
      driver.other.say(text);
    }
    return half.connect(port_in(driver.other.hear(join_limit).tag, 0), {token, edge_there}, driver.wait);
  }

  std::unique_ptr<lane_end> join(lane_side& peer, fd_message heard) const override {
    if (heard.fds.size() != (variant_.tls ? 1u : 0u)) throw transport_failure("TLS comes with credentials");
    const auto words = words_of(heard.tag);
    const std::array<std::uint64_t, 2> token{std::stoull(words.at(3)), std::stoull(words.at(4))};
    tcp_half half(variant_, variant_.tls ? std::optional(read_credentials(heard.fds[0].get())) : std::nullopt,
                  {token, edge_there});
    peer.other.say(std::to_string(half.port()));
    return half.connect(port_in(heard.tag, 2), {token, edge_back}, peer.wait);
  }

 private:
  static std::uint16_t port_in(const std::string& text, std::size_t word) {
    return static_cast<std::uint16_t>(std::stoul(words_of(text).at(word)));
  }

  const tcp_variant variant_;
};

}  // namespace

std::unique_ptr<lane_kind> tcp_kind(std::string name, tcp_variant variant) {
  return std::make_unique<tcp_lane_kind>(std::move(name), variant);
}

}  // namespace troupe::bench
