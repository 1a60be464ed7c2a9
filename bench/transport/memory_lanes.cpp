// Lanes within one process: memcpy, and inproc edges between two threads.
#include <array>
#include <cstring>
#include <vector>

#include "edge_lane.hpp"
#include "lanes.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"

namespace troupe::bench {
namespace {

class memcpy_lane final : public lane_end {
 public:
  void begin(const traffic& coming) override {
    bytes_ = coming.bytes;
    for (auto& place : places_) place.resize(std::max(place.size(), bytes_));
  }
  void send() override {
    at_ = (at_ + 1) % places_.size();
    std::memcpy(places_[at_].data(), source().data(), bytes_);
  }
  std::uint64_t receive() override { return touched(std::span(places_[at_]).first(bytes_)); }

 private:
  std::array<std::vector<std::byte>, credits> places_;
  std::size_t at_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<lane_end> make_memcpy_lane() {
  return std::make_unique<memcpy_lane>();
}

std::pair<std::unique_ptr<lane_end>, std::unique_ptr<lane_end>> make_inproc_lane(patience driver, patience peer) {
  const auto driver_bell = std::make_shared<doorbell>();
  const auto peer_bell = std::make_shared<doorbell>();
  // Either side keeps both bells, as it rings the other one's to its end.
  const auto ground =
      std::make_shared<std::pair<std::shared_ptr<doorbell>, std::shared_ptr<doorbell>>>(driver_bell, peer_bell);
  auto there = inproc_edge_factory().make({credits, driver_bell.get(), peer_bell.get(), 1});
  auto back = inproc_edge_factory().make({credits, peer_bell.get(), driver_bell.get(), 1});
  const auto trouble = std::make_shared<edge_trouble>();
  return {make_edge_lane({ground, driver_bell, trouble, std::move(there.producer), std::move(back.consumer)},
                         std::move(driver)),
          make_edge_lane({ground, peer_bell, trouble, std::move(back.producer), std::move(there.consumer)},
                         std::move(peer))};
}

}  // namespace troupe::bench
