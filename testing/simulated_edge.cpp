#include "testing/simulated_edge.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

struct down_message {
  simulated_message kind = simulated_message::activation;
  activation carried;
  call_number call = 0;
};

struct arrived_activation {
  activation message;
  std::optional<call_number> flushed_before;
};

/// Closing neither overtakes nor is overtaken.
bool is_closing(simulated_message kind) {
  return kind == simulated_message::producer_closed || kind == simulated_message::consumer_closed;
}

simulated_message kind_of(const down_message& message) {
  return message.kind;
}
simulated_message kind_of(simulated_message message) {
  return message;
}

}  // namespace

/// One edge: the messages under way in each direction, and what each end knows of the other.
struct simulated_channel {
  edge_options options;
  bool enforce_credits = true;

  std::deque<down_message> down;
  std::deque<simulated_message> up;

  struct {
    std::uint64_t sent = 0;
    std::uint64_t credits_back = 0;
    bool closed = false;
    bool peer_closed = false;
  } producer;

  struct {
    std::deque<arrived_activation> arrived;  ///< after close() without its handles: dropped is not received
    std::optional<call_number> flushed;
    std::uint64_t in_use = 0;  ///< received, not released
    std::uint64_t copies = 0;  ///< duplicates among arrived and in_use
    bool closed = false;
    bool peer_closed = false;
  } consumer;

  [[nodiscard]] std::uint64_t free_slots() const noexcept {
    return options.slots - (producer.sent - producer.credits_back);
  }

  void ring_producer() const noexcept {
    if (options.producer_bell != nullptr && !producer.closed) options.producer_bell->ring();
  }
  void ring_consumer() const noexcept {
    if (options.consumer_bell != nullptr && !consumer.closed) options.consumer_bell->ring();
  }

  /// Returns whether the consumer now holds more than it granted.
  [[nodiscard]] bool arrive(down_message message) {
    if (message.kind == simulated_message::producer_closed) consumer.peer_closed = true;
    if (message.kind == simulated_message::flush) {
      consumer.flushed = std::max(consumer.flushed, std::optional(message.call));
    }
    if (message.kind == simulated_message::activation) {
      if (consumer.closed) message.carried = {};
      consumer.arrived.push_back({std::move(message.carried), consumer.flushed});
    }
    ring_consumer();
    return consumer.arrived.size() + consumer.in_use - consumer.copies > options.slots;
  }

  [[nodiscard]] bool arrive(simulated_message message) {
    if (message == simulated_message::consumer_closed) {
      producer.peer_closed = true;
      ring_producer();
      return false;
    }
    producer.credits_back = std::min(producer.credits_back + 1, producer.sent);
    if (options.credits_per_ring == 1 || free_slots() == std::min(options.credits_per_ring, options.slots))
      ring_producer();
    return false;
  }

  /// Lets the head of a direction arrive, as the policy decides. Returns whether that overran the consumer.
  template <class Message>
  [[nodiscard]] bool deliver_head(std::deque<Message>& link, std::size_t edge, delivery_policy* policy) {
    delivery_action action = delivery_action::deliver;
    if (policy != nullptr && !is_closing(kind_of(link.front())))
      action = policy->on_deliver(edge, kind_of(link.front()));
    if (action == delivery_action::swap && link.size() > 1 && !is_closing(kind_of(link[1])))
      std::swap(link[0], link[1]);
    Message message = std::move(link.front());
    link.pop_front();
    if (action == delivery_action::drop) return false;
    if (action != delivery_action::duplicate) return arrive(std::move(message));
    const bool overrun = arrive(Message(message));
    if (kind_of(message) == simulated_message::activation) ++consumer.copies;
    return arrive(std::move(message)) || overrun;
  }
};

namespace {

class simulated_producer final : public edge_producer {
 public:
  explicit simulated_producer(std::shared_ptr<simulated_channel> shared) : channel_(std::move(shared)) {}
  ~simulated_producer() override { simulated_producer::close(); }

  [[nodiscard]] std::uint32_t slots() const noexcept override { return channel_->options.slots; }

  [[nodiscard]] std::uint32_t credits() const noexcept override {
    if (channel_->producer.peer_closed || !channel_->enforce_credits) return slots();
    return static_cast<std::uint32_t>(channel_->free_slots());
  }

  [[nodiscard]] send_status try_send(activation& message) override {
    TROUPE_CHECK(!channel_->producer.closed,
                 "nothing is sent after close(): the consumer may have found the edge exhausted");
    if (channel_->producer.peer_closed) return send_status::closed;
    if (credits() == 0) return send_status::no_credit;
    channel_->down.push_back({simulated_message::activation, std::move(message), 0});
    ++channel_->producer.sent;
    return send_status::sent;
  }

  void send_flush(call_number call) noexcept override {
    if (channel_->producer.closed || channel_->producer.peer_closed) return;
    channel_->down.push_back({simulated_message::flush, {}, call});
  }

  void abandon() noexcept override { channel_->producer.closed = true; }

  void close() noexcept override {
    if (std::exchange(channel_->producer.closed, true)) return;
    channel_->down.push_back({simulated_message::producer_closed, {}, 0});
  }

 private:
  const std::shared_ptr<simulated_channel> channel_;
};

class simulated_consumer final : public edge_consumer {
 public:
  explicit simulated_consumer(std::shared_ptr<simulated_channel> shared) : channel_(std::move(shared)) {}
  ~simulated_consumer() override { simulated_consumer::close(); }

  [[nodiscard]] std::optional<activation> try_receive() override {
    auto& own = channel_->consumer;
    if (own.closed || own.arrived.empty()) return std::nullopt;
    std::optional<activation> message(std::move(own.arrived.front().message));
    own.arrived.pop_front();
    ++own.in_use;
    return message;
  }

  void release() noexcept override {
    auto& own = channel_->consumer;
    TROUPE_CHECK(own.in_use > 0, "one release per receive: a second one would grant a slot that is in use");
    --own.in_use;
    if (own.copies > 0) {
      --own.copies;
    } else {
      channel_->up.push_back(simulated_message::credit);
    }
  }

  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    const auto& own = channel_->consumer;
    return own.arrived.empty() ? own.flushed : own.arrived.front().flushed_before;
  }

  [[nodiscard]] bool exhausted() const noexcept override {
    return channel_->consumer.peer_closed && channel_->consumer.arrived.empty();
  }

  void abandon() noexcept override { channel_->consumer.closed = true; }

  void close() noexcept override {
    if (std::exchange(channel_->consumer.closed, true)) return;
    for (arrived_activation& dropped : channel_->consumer.arrived) dropped.message = {};
    channel_->up.push_back(simulated_message::consumer_closed);
  }

 private:
  const std::shared_ptr<simulated_channel> channel_;
};

}  // namespace

edge_ends simulated_network::make(const edge_options& options) {
  TROUPE_CHECK(options.slots >= 1 && options.slots <= limits::pipe_buffers_max,
               "an edge has 1 to pipe_buffers_max slots");
  TROUPE_CHECK(options.credits_per_ring >= 1, "a producer must be rung at some number of free slots");
  auto shared = std::make_shared<simulated_channel>();
  shared->options = options;
  shared->enforce_credits = options_.enforce_credits;
  std::erase_if(channels_, [](const numbered_channel& each) { return each.channel.expired(); });
  channels_.push_back({made_++, shared});
  return {std::make_unique<simulated_producer>(shared), std::make_unique<simulated_consumer>(shared)};
}

std::size_t simulated_network::pending() const noexcept {
  std::size_t count = 0;
  for (const numbered_channel& each : channels_) {
    if (const auto channel = each.channel.lock())
      count += (channel->down.empty() ? 0u : 1u) + (channel->up.empty() ? 0u : 1u);
  }
  return count;
}

void simulated_network::deliver(std::size_t k) {
  for (const auto& [edge, weak] : channels_) {
    const auto channel = weak.lock();
    if (channel == nullptr) continue;
    if (!channel->down.empty() && k-- == 0) {
      overrun_ = channel->deliver_head(channel->down, edge, options_.on_deliver) || overrun_;
      return;
    }
    if (!channel->up.empty() && k-- == 0) {
      overrun_ = channel->deliver_head(channel->up, edge, options_.on_deliver) || overrun_;
      return;
    }
  }
  TROUPE_CHECK(false, "deliver(k) needs k < pending()");
}

}  // namespace troupe
