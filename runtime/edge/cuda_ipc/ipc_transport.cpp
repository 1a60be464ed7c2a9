#include "runtime/edge/cuda_ipc/ipc_transport.hpp"

#include <string>
#include <utility>

#include "messages/check.hpp"
#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_ends.hpp"
#include "runtime/edge/shm/shm_edge.hpp"

namespace troupe {

struct ipc_transport::inside {
  std::shared_ptr<const ipc_tools> tools;
  std::shared_ptr<ipc::event_poller> poller;
  std::shared_ptr<const payload_codec> codec;
  bool has_checksums = false;

  [[nodiscard]] static expected<unique_fd> memory_of(const edge_site& site) {
    if (site.offer.memory) return site.offer.memory->copy();
    return fail(error_code::wire_malformed, "edge", "it comes without its memory");
  }
  [[nodiscard]] ipc::end_parts parts_of(const edge_site& site) const {
    std::string name = "cuda_ipc edge " + std::to_string(site.channel) + ", epoch " + std::to_string(site.epoch);
    return {tools, poller, std::make_shared<ipc::end_news>(std::move(name), site.on_lost, site.on_damaged)};
  }
  [[nodiscard]] shm_end end_of(const edge_site& site, const std::shared_ptr<ipc::end_news>& news) const {
    return {.peer_bell = site.peer_bell,
            .codec = codec,
            .on_damaged = [news](const error& why) { news->damage(why); },
            .faults = site.faults,
            .on_lost = [news](const error& why) { news->lose(why); }};
  }
};

expected<std::shared_ptr<ipc_transport>> ipc_transport::open(std::shared_ptr<const ipc_tools> tools,
                                                             std::shared_ptr<const payload_codec> codec,
                                                             bool checksums) {
  TROUPE_CHECK(tools && tools->device && tools->sharing && tools->codec && codec, "a cuda_ipc edge stands on these");
  auto poller = ipc::event_poller::open(tools->device);
  if (!poller) return tl::make_unexpected(std::move(poller).error());
  auto made = std::make_unique<inside>();
  made->tools = std::move(tools);
  made->poller = std::move(*poller);
  made->codec = ipc::announcing_codec(std::move(codec));
  made->has_checksums = checksums;
  return std::shared_ptr<ipc_transport>(new ipc_transport(std::move(made)));
}

ipc_transport::ipc_transport(std::unique_ptr<const inside> made) : inside_(std::move(made)) {}

ipc_transport::~ipc_transport() = default;

bool ipc_transport::is_settled() const {
  return inside_->poller->is_idle();
}

expected<edge_offer> ipc_transport::offer(const edge_options& shape, edge_reach reach) {
  if (reach == edge_reach::network) {
    return fail(error_code::config_bad_value, "edge", "devices of two nodes share no memory",
                "use --transport auto, nccl or tcp");
  }
  return create_shm_edge({.slots = shape.slots, .credits_per_ring = shape.credits_per_ring})
      .map([](unique_fd&& memory) { return edge_offer{.memory = blob(std::move(memory))}; });
}

expected<std::unique_ptr<edge_consumer>> ipc_transport::open_consumer(edge_site site) {
  auto memory = inside::memory_of(site);
  if (!memory) return tl::make_unexpected(std::move(memory).error());
  ipc::end_parts parts = inside_->parts_of(site);
  auto announcing = open_shm_consumer(std::move(*memory), inside_->end_of(site, parts.news));
  if (!announcing) return tl::make_unexpected(std::move(announcing).error());
  return ipc::make_consumer_end(std::move(*announcing), site.shape.slots, site.shape.consumer_bell, std::move(parts));
}

expected<std::unique_ptr<edge_producer>> ipc_transport::open_producer(edge_site site) {
  auto memory = inside::memory_of(site);
  if (!memory) return tl::make_unexpected(std::move(memory).error());
  ipc::end_parts parts = inside_->parts_of(site);
  const auto choice = std::make_shared<ipc::slot_choice>();
  shm_end end = inside_->end_of(site, parts.news);
  end.checksums = inside_->has_checksums;
  end.on_slot = [choice](std::uint32_t slot) { choice->told(slot); };
  auto announcing = open_shm_producer(std::move(*memory), std::move(end));
  if (!announcing) return tl::make_unexpected(std::move(announcing).error());
  return ipc::make_producer_end(std::move(*announcing), choice, std::move(parts));
}

}  // namespace troupe
