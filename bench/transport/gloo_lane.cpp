// Gloo's send and recv between two ranks over its TCP transport. The ranks exchange their addresses by themselves, as
// gloo's rendezvous would through a file: so there is none to be left behind.
#include <array>
#include <deque>
#include <vector>

#include "lanes.hpp"

#ifdef TROUPE_BENCH_GLOO
#include <gloo/config.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#endif

namespace troupe::bench {

#ifdef TROUPE_BENCH_GLOO
namespace {

using gloo::transport::UnboundBuffer;

struct gloo_rank {
  explicit gloo_rank(int own) : other(1 - own), context(device()->createContext(own, 2)) {
    context->setTimeout(join_limit);
    pair().setLocalRank(own);
  }
  static std::shared_ptr<gloo::transport::Device> device() {
    gloo::transport::tcp::attr at("127.0.0.1");
    return gloo::transport::tcp::CreateDevice(at);
  }
  [[nodiscard]] gloo::transport::Pair& pair() {
    auto& known = context->getPair(other);
    return known ? *known : *context->createPair(other);
  }
  [[nodiscard]] std::string address() {
    const std::vector<char> bytes = pair().address().bytes();
    return {bytes.begin(), bytes.end()};
  }
  void connect(const std::string& to) { pair().connect({to.begin(), to.end()}); }

  const int other;
  const std::shared_ptr<gloo::transport::Context> context;
};

/// As many messages under way as an edge has slots: so many receives posted, so many sends not waited for.
class gloo_lane final : public lane_end {
 public:
  gloo_lane(std::unique_ptr<gloo_rank> rank, patience wait) : rank_(std::move(rank)), limit_(wait.limit) {}

  void begin(const traffic& coming) override {
    for (place& one : places_) {
      if (one.bytes.size() < coming.bytes) one.bytes.resize(coming.bytes);
      one.in = rank_->context->createUnboundBuffer(one.bytes.data(), coming.bytes);
      // gloo does not write to what it sends
      one.out = rank_->context->createUnboundBuffer(const_cast<std::byte*>(source().data()), coming.bytes);
      one.sending = false;
    }
    sent_ = received_ = posted_ = 0;
    receives_ = coming.receives;
    while (posted_ < std::min<std::uint64_t>(credits, receives_)) post();
  }

  void send() override {
    place& next = places_[sent_ % credits];
    finish(next);
    next.out->send(rank_->other, slot);
    next.sending = true;
    ++sent_;
  }

  std::uint64_t receive() override {
    place& next = places_[received_++ % credits];
    if (!next.in->waitRecv(limit_)) throw transport_failure("gloo gave up a receive");
    const std::uint64_t sum = touched(std::span(next.bytes).first(next.in->size));
    if (posted_ < receives_) post();
    return sum;
  }

  void end() override {
    for (place& one : places_) finish(one);
  }

 private:
  static constexpr std::uint64_t slot = 1;
  struct place {
    std::vector<std::byte> bytes;
    std::unique_ptr<UnboundBuffer> in;
    std::unique_ptr<UnboundBuffer> out;
    bool sending = false;
  };

  void post() { places_[posted_++ % credits].in->recv(rank_->other, slot); }
  void finish(place& one) const {
    if (std::exchange(one.sending, false) && !one.out->waitSend(limit_)) throw transport_failure("gloo gave up a send");
  }

  const std::unique_ptr<gloo_rank> rank_;
  const std::chrono::milliseconds limit_;
  std::array<place, credits> places_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t receives_ = 0;
};

class gloo_lane_kind final : public lane_kind {
 public:
  gloo_lane_kind() : lane_kind("gloo") {}

  std::unique_ptr<lane_end> open(lane_side& driver) const override {
    auto rank = std::make_unique<gloo_rank>(0);
    driver.other.say("join " + name());
    const fd_message heard = driver.other.hear(join_limit);
    driver.other.say(rank->address());
    rank->connect(heard.tag);
    return std::make_unique<gloo_lane>(std::move(rank), driver.wait);
  }
  std::unique_ptr<lane_end> join(lane_side& peer, fd_message) const override {
    auto rank = std::make_unique<gloo_rank>(1);
    peer.other.say(rank->address());
    rank->connect(peer.other.hear(join_limit).tag);
    return std::make_unique<gloo_lane>(std::move(rank), peer.wait);
  }
};

}  // namespace

std::unique_ptr<lane_kind> gloo_kind() {
  return std::make_unique<gloo_lane_kind>();
}

std::string gloo_version() {
  return std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) + "." +
         std::to_string(GLOO_VERSION_PATCH);
}
#else
std::unique_ptr<lane_kind> gloo_kind() {
  return nullptr;
}

std::string gloo_version() {
  return {};
}
#endif

}  // namespace troupe::bench
