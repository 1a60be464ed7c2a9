#include "runtime/edge/tcp/tcp_endpoint.hpp"

#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/tcp/edge_link.hpp"
#include "runtime/edge/tcp/tcp_core.hpp"

namespace troupe {
namespace {

/// The engine's end of a queue, whose other end is the I/O thread's.
class tcp_producer final : public edge_producer {
 public:
  tcp_producer(std::unique_ptr<edge_producer> queue, std::shared_ptr<sender_link> link, std::shared_ptr<tcp_core> core)
      : link_(link), codec_(core->options().codec), end_(std::move(queue), std::move(link), std::move(core)) {}

  [[nodiscard]] std::uint32_t slots() const noexcept override { return end_.queue->slots(); }
  [[nodiscard]] std::uint32_t credits() const noexcept override { return end_.is_silent() ? 0 : end_.queue->credits(); }
  [[nodiscard]] send_status try_send(activation& message) override {
    const send_status status = queue_up(message);
    if (status == send_status::sent) end_.wake();
    return status;
  }
  [[nodiscard]] send_status try_send_now(activation& message) override {
    const send_status status = queue_up(message);
    if (status == send_status::sent) end_.mover->write_here(link_);
    return status;
  }
  void send_flush(call_number call) noexcept override {
    end_.queue->send_flush(call);
    end_.wake();
  }
  void close() noexcept override { end_.close(); }
  void abandon() noexcept override { end_.abandon(); }

 private:
  send_status queue_up(activation& message) {
    if (end_.is_silent()) return send_status::no_credit;
    refuse_what_has_no_bytes(message);
    const send_status status = end_.queue->try_send(message);
    if (status == send_status::sent) link_->sent.store(++sent_, std::memory_order_release);
    return status;
  }

  // Here, where the caller can be told: the I/O thread writes it later, and has no caller.
  void refuse_what_has_no_bytes(const activation& message) const {
    for (const payload_ptr& each : {message.tensors, message.labels}) {
      if (each) static_cast<void>(codec_->size_of(*each));
    }
  }

  const std::shared_ptr<sender_link> link_;
  const std::shared_ptr<const payload_codec> codec_;
  queue_end<edge_producer, edge_link, tcp_core> end_;
  std::uint64_t sent_ = 0;
};

class tcp_consumer final : public edge_consumer {
 public:
  tcp_consumer(std::unique_ptr<edge_consumer> queue, std::shared_ptr<receiver_link> link,
               std::shared_ptr<tcp_core> core)
      : link_(link), end_(std::move(queue), std::move(link), std::move(core)) {}

  [[nodiscard]] std::optional<activation> try_receive() override { return end_.queue->try_receive(); }
  void release() noexcept override {
    end_.queue->release();
    link_->released.store(++released_, std::memory_order_release);
    end_.wake();
  }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    return end_.queue->flushed_through();
  }
  [[nodiscard]] bool exhausted() const noexcept override { return end_.queue->exhausted(); }
  void close() noexcept override { end_.close(); }
  void abandon() noexcept override { end_.abandon(); }

 private:
  const std::shared_ptr<receiver_link> link_;
  queue_end<edge_consumer, edge_link, tcp_core> end_;
  std::uint64_t released_ = 0;
};

/// `reach` connects the link, now or in the background.
template <class Reach>
expected<std::unique_ptr<edge_producer>> make_producer(const std::shared_ptr<tcp_core>& core, const edge_key& key,
                                                       tcp_edge_options options, const Reach& reach) {
  TROUPE_CHECK(core->options().codec != nullptr, "payloads cannot cross processes without a codec");
  options.edge.consumer_bell = nullptr;
  edge_ends queue = inproc_edge_factory().make(options.edge);
  auto link =
      std::make_shared<sender_link>(key, options.edge.slots, std::move(options.peer), std::move(options.on_lost));
  link->queue = std::move(queue.consumer);
  link->faults = std::move(options.faults);
  TROUPE_TRY(reach(link));
  return std::make_unique<tcp_producer>(std::move(queue.producer), std::move(link), core);
}

}  // namespace

expected<std::unique_ptr<tcp_endpoint>> tcp_endpoint::open(tcp_endpoint_options options) {
  auto core = std::make_shared<tcp_core>(std::move(options));
  TROUPE_TRY(core->open());
  return std::unique_ptr<tcp_endpoint>(new tcp_endpoint(std::move(core)));
}

tcp_endpoint::~tcp_endpoint() {
  stop();
}

std::uint16_t tcp_endpoint::port() const noexcept {
  return core_->port();
}

// Only the engine has a bell at its queue: the I/O thread is posted to.
expected<std::unique_ptr<edge_consumer>> tcp_endpoint::accept(const edge_key& key, tcp_edge_options options) {
  TROUPE_CHECK(core_->options().codec != nullptr, "payloads cannot cross processes without a codec");
  options.edge.producer_bell = nullptr;
  edge_ends queue = inproc_edge_factory().make(options.edge);
  auto link =
      std::make_shared<receiver_link>(key, options.edge.slots, std::move(options.peer), std::move(options.on_lost));
  link->queue = std::move(queue.producer);
  link->arrived_bytes = std::move(options.arrived_bytes);
  link->faults = std::move(options.faults);
  core_->expect(options.peer_address);
  TROUPE_TRY(core_->await_peer(link));
  return std::make_unique<tcp_consumer>(std::move(queue.consumer), std::move(link), core_);
}

expected<std::unique_ptr<edge_producer>> tcp_endpoint::connect(const std::string& host, std::uint16_t port,
                                                               const edge_key& key, tcp_edge_options options) {
  return make_producer(core_, key, std::move(options),
                       [&](const std::shared_ptr<sender_link>& link) { return core_->dial(host, port, link); });
}

expected<std::unique_ptr<edge_producer>> tcp_endpoint::connect_later(const std::string& host, std::uint16_t port,
                                                                     const edge_key& key, tcp_edge_options options) {
  return make_producer(core_, key, std::move(options), [&](const std::shared_ptr<sender_link>& link) {
    return core_->dial_until_admitted(host, port, link);
  });
}

void tcp_endpoint::stop(std::chrono::milliseconds at_most) noexcept {
  core_->stop(at_most);
}

bool tcp_endpoint::is_settled() const {
  return core_->is_settled();
}

std::size_t tcp_endpoint::connections() const {
  return core_->connections();
}

}  // namespace troupe
