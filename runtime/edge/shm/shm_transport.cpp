#include "runtime/edge/shm/shm_transport.hpp"

#include <utility>

#include "runtime/edge/shm/shm_edge.hpp"

namespace troupe {
namespace {

class shm_transport final : public transport {
 public:
  shm_transport(std::shared_ptr<const payload_codec> codec, bool checksums)
      : codec_(std::move(codec)), has_checksums_(checksums) {}

  std::uint64_t contact() const noexcept override { return 0; }
  bool may_be_contact(std::uint64_t said) const noexcept override { return said == 0; }
  bool loses_ends() const noexcept override { return has_checksums_; }

  expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override {
    if (reach != edge_reach::host)
      return fail(error_code::config_bad_value, "edge", "two nodes share no memory", "use --transport auto or tcp");
    return create_shm_edge({.slots = shape.slots, .credits_per_ring = shape.credits_per_ring})
        .map([](unique_fd&& memory) { return edge_offer{.memory = blob(std::move(memory))}; });
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return open<std::unique_ptr<edge_consumer>>(std::move(site), open_shm_consumer);
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return open<std::unique_ptr<edge_producer>>(std::move(site), open_shm_producer);
  }

 private:
  template <class End>
  expected<End> open(edge_site site, expected<End> (*made_of)(unique_fd, shm_end_options)) const {
    if (!site.offer.memory) return fail(error_code::wire_malformed, "edge", "it comes without its memory");
    return site.offer.memory->copy().and_then([&](unique_fd&& memory) {
      return made_of(std::move(memory), shm_end_options{.peer_bell = std::move(site.peer_bell),
                                                        .codec = codec_,
                                                        .on_damaged = std::move(site.on_damaged),
                                                        .faults = std::move(site.faults),
                                                        .checksums = has_checksums_,
                                                        .on_lost = std::move(site.on_lost)});
    });
  }

  const std::shared_ptr<const payload_codec> codec_;
  const bool has_checksums_;
};

}  // namespace

std::shared_ptr<transport> make_shm_transport(std::shared_ptr<const payload_codec> codec, bool checksums) {
  return std::make_shared<shm_transport>(std::move(codec), checksums);
}

}  // namespace troupe
