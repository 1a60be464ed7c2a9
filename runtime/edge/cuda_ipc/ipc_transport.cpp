#include "runtime/edge/cuda_ipc/ipc_transport.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/cuda_ipc/ipc_ends.hpp"
#include "runtime/edge/shm/shm_edge.hpp"

namespace troupe {

/// The device of this process, with the thread that watches its events.
struct ipc_transport::inside {
  struct device {
    std::shared_ptr<const ipc_tools> tools;
    std::shared_ptr<ipc::event_poller> poller;
  };

  tools_source source;
  std::shared_ptr<const payload_codec> codec;
  bool has_checksums = false;
  std::mutex guard;
  std::optional<device> opened;

  [[nodiscard]] expected<device> get() {
    const std::lock_guard lock{guard};
    if (opened) return *opened;
    return source().and_then([this](std::shared_ptr<const ipc_tools>&& tools) {
      TROUPE_CHECK(tools && tools->device && tools->sharing && tools->codec, "a cuda_ipc edge stands on these");
      return ipc::event_poller::open(tools->device).map([&](std::shared_ptr<ipc::event_poller>&& poller) -> device {
        return opened.emplace(device{std::move(tools), std::move(poller)});
      });
    });
  }

  [[nodiscard]] static expected<unique_fd> memory_of(const edge_site& site) {
    if (site.offer.memory) return site.offer.memory->copy();
    return fail(error_code::wire_malformed, "edge", "it comes without its memory");
  }
  [[nodiscard]] static ipc::end_parts parts_of(const edge_site& site, device here) {
    std::string name = "cuda_ipc edge " + std::to_string(site.channel) + ", epoch " + std::to_string(site.epoch);
    return {std::move(here.tools), std::move(here.poller),
            std::make_shared<ipc::end_news>(std::move(name), site.on_lost, site.on_damaged)};
  }
  [[nodiscard]] shm_end_options end_of(const edge_site& site, const std::shared_ptr<ipc::end_news>& news) const {
    return {.peer_bell = site.peer_bell,
            .codec = codec,
            .on_damaged = [news](const error& why) { news->damage(why); },
            .faults = site.faults,
            .on_lost = [news](const error& why) { news->lose(why); }};
  }
};

std::shared_ptr<ipc_transport> ipc_transport::open(tools_source tools, std::shared_ptr<const payload_codec> codec,
                                                   bool checksums) {
  TROUPE_CHECK(tools && codec, "a cuda_ipc edge stands on these");
  auto made = std::make_unique<inside>();
  made->source = std::move(tools);
  made->codec = ipc::announcing_codec(std::move(codec));
  made->has_checksums = checksums;
  return std::shared_ptr<ipc_transport>(new ipc_transport(std::move(made)));
}

ipc_transport::ipc_transport(std::unique_ptr<inside> made) : inside_(std::move(made)) {}

ipc_transport::~ipc_transport() = default;

bool ipc_transport::is_settled() const {
  const std::lock_guard lock{inside_->guard};
  return !inside_->opened || inside_->opened->poller->is_idle();
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
  auto memory = TROUPE_TRY(inside::memory_of(site));
  auto here = TROUPE_TRY(inside_->get());
  ipc::end_parts parts = inside::parts_of(site, std::move(here));
  auto announcing = TROUPE_TRY(open_shm_consumer(std::move(memory), inside_->end_of(site, parts.news)));
  return ipc::make_consumer_end(std::move(announcing), site.shape.slots, site.shape.consumer_bell, std::move(parts));
}

expected<std::unique_ptr<edge_producer>> ipc_transport::open_producer(edge_site site) {
  auto memory = TROUPE_TRY(inside::memory_of(site));
  auto here = TROUPE_TRY(inside_->get());
  ipc::end_parts parts = inside::parts_of(site, std::move(here));
  const auto choice = std::make_shared<ipc::slot_choice>();
  shm_end_options end = inside_->end_of(site, parts.news);
  end.checksums = inside_->has_checksums;
  end.on_slot = [choice](std::uint32_t slot) { choice->told(slot); };
  auto announcing = TROUPE_TRY(open_shm_producer(std::move(memory), std::move(end)));
  return ipc::make_producer_end(std::move(announcing), choice, std::move(parts));
}

}  // namespace troupe
