#include "runtime/edge/nccl/nccl_transport.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/nccl/announcement.hpp"
#include "runtime/edge/nccl/nccl_core.hpp"
#include "runtime/edge/nccl/nccl_ends.hpp"
#include "runtime/edge/nccl/nccl_receiver.hpp"
#include "runtime/edge/nccl/nccl_sender.hpp"

namespace troupe {

struct nccl_transport::inside {
  std::shared_ptr<const payload_codec> labels;
  std::shared_ptr<transport> announcing;
  tools_source source;
  mutable std::mutex guard;
  /// Null before the first end.
  std::shared_ptr<nccl::core> core;

  [[nodiscard]] expected<std::shared_ptr<nccl::core>> get_core() {
    const std::lock_guard lock{guard};
    if (core) return core;
    return source().and_then([this](std::shared_ptr<const nccl_tools>&& tools) {
      TROUPE_CHECK(tools && tools->device && tools->codec, "an nccl edge stands on these");
      return nccl::core::open(std::move(tools)).map([this](std::shared_ptr<nccl::core>&& made) {
        core = std::move(made);
        return core;
      });
    });
  }
  [[nodiscard]] std::shared_ptr<nccl::core> opened_core() const {
    const std::lock_guard lock{guard};
    return core;
  }

  /// One end of the announcing edge.
  [[nodiscard]] static edge_site site_of(const edge_site& site, const std::shared_ptr<nccl::loss_box>& losses,
                                         const std::shared_ptr<nccl::core>& core) {
    edge_site made = site;
    made.shape = announcing_shape(site.shape);
    made.shape.producer_bell = made.shape.consumer_bell = core->bell().get();
    made.on_lost = made.on_damaged = [losses, bell = core->bell()](const error& why) {
      losses->put(why);
      bell->ring();
    };
    return made;
  }
  /// The hello has a slot of its own.
  [[nodiscard]] static edge_options announcing_shape(const edge_options& shape) {
    return {.slots = std::min(shape.slots + 1, limits::pipe_buffers_max)};
  }
  [[nodiscard]] static std::shared_ptr<nccl::link> link_of(edge_site& site) {
    return std::make_shared<nccl::link>(
        "nccl edge " + std::to_string(site.channel) + ", epoch " + std::to_string(site.epoch), std::move(site.on_lost));
  }
  [[nodiscard]] static nccl::core::order order_of(const edge_site& site) { return {site.epoch, site.channel}; }
};

expected<std::shared_ptr<nccl_transport>> nccl_transport::open(
    tools_source tools, std::shared_ptr<const payload_codec> codec,
    const std::function<expected<std::shared_ptr<transport>>(std::shared_ptr<const payload_codec>)>& make_announcing) {
  TROUPE_CHECK(tools && codec, "an nccl edge stands on these");
  auto made = std::make_unique<inside>();
  made->source = std::move(tools);
  made->labels = codec;
  made->announcing = TROUPE_TRY(make_announcing(nccl::announcing_codec(std::move(codec))));
  return std::shared_ptr<nccl_transport>(new nccl_transport(std::move(made)));
}

nccl_transport::nccl_transport(std::unique_ptr<inside> made) : inside_(std::move(made)) {}

nccl_transport::~nccl_transport() {
  if (const auto core = inside_->opened_core()) core->stop(limits::tcp_stop_timeout);
}

std::uint64_t nccl_transport::contact() const noexcept {
  return inside_->announcing->contact();
}

bool nccl_transport::may_be_contact(std::uint64_t said) const noexcept {
  return inside_->announcing->may_be_contact(said);
}

expected<edge_offer> nccl_transport::offer(const edge_options& shape, edge_reach reach) {
  return inside_->announcing->offer(inside::announcing_shape(shape), reach);
}

expected<std::unique_ptr<edge_consumer>> nccl_transport::open_consumer(edge_site site) {
  const auto opened = TROUPE_TRY(inside_->get_core());
  const auto& core = opened;
  const auto losses = std::make_shared<nccl::loss_box>();
  edge_options shape = site.shape;
  shape.producer_bell = nullptr;
  edge_ends queue = inproc_edge_factory().make(shape);
  auto announcing = TROUPE_TRY(inside_->announcing->open_consumer(inside::site_of(site, losses, core)));
  const auto order = inside::order_of(site);
  const auto shared = inside::link_of(site);
  core->add(order, std::make_unique<nccl::receiver>(nccl::receiver::parts{.shared = shared,
                                                                          .losses = losses,
                                                                          .queue = std::move(queue.producer),
                                                                          .announcing = std::move(announcing),
                                                                          .tools = core->tools(),
                                                                          .ends = core->ends()}));
  return nccl::make_consumer_end(std::move(queue.consumer), shared, core);
}

expected<std::unique_ptr<edge_producer>> nccl_transport::open_producer(edge_site site) {
  const auto opened = TROUPE_TRY(inside_->get_core());
  const auto& core = opened;
  const auto losses = std::make_shared<nccl::loss_box>();
  edge_options shape = site.shape;
  shape.consumer_bell = core->bell().get();
  edge_ends queue = inproc_edge_factory().make(shape);
  auto announcing = TROUPE_TRY(inside_->announcing->open_producer(inside::site_of(site, losses, core)));
  const auto order = inside::order_of(site);
  const auto shared = inside::link_of(site);
  core->add(order, std::make_unique<nccl::sender>(nccl::sender::parts{.shared = shared,
                                                                      .losses = losses,
                                                                      .queue = std::move(queue.consumer),
                                                                      .announcing = std::move(announcing),
                                                                      .tools = core->tools(),
                                                                      .ends = core->ends()}));
  return nccl::make_producer_end(std::move(queue.producer), shared, core, inside_->labels);
}

std::optional<std::uint32_t> nccl_transport::settled_at() const {
  const auto core = inside_->opened_core();
  return core ? core->settled_at() : std::nullopt;
}

std::uint32_t nccl_transport::abandoned_ends() const {
  const auto core = inside_->opened_core();
  return core ? core->ends()->abandoned() : 0;
}

}  // namespace troupe
