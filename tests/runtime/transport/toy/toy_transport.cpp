#include "toy_transport.hpp"

#include <functional>
#include <utility>

#include "mailbox.hpp"
#include "messages/check.hpp"

namespace troupe::testing {
namespace {

/// What both ends need.
struct toy_end {
  mailbox memory;
  std::shared_ptr<doorbell> peer_bell;
  std::shared_ptr<const payload_codec> codec;
  std::function<void(const error&)> on_damaged;

  void ring() const {
    if (peer_bell) peer_bell->ring();
  }
};

class toy_producer final : public edge_producer {
 public:
  explicit toy_producer(toy_end end) : end_(std::move(end)), words_(end_.memory.words()) {}
  ~toy_producer() override { toy_producer::close(); }

  std::uint32_t credits() const noexcept override {
    if (words_.consumer_closed.load(std::memory_order_acquire) != 0) return slots();
    const std::uint64_t used = words_.sent.load(std::memory_order_relaxed) - words_.released.load();
    return used < slots() ? slots() - static_cast<std::uint32_t>(used) : 0;
  }
  std::uint32_t slots() const noexcept override { return end_.memory.slots(); }
  send_status try_send(activation& message) override {
    TROUPE_CHECK(!closed_, "nothing is sent after close");
    if (words_.consumer_closed.load() != 0) return send_status::closed;
    if (credits() == 0) return send_status::no_credit;
    const std::uint64_t position = words_.sent.load(std::memory_order_relaxed);
    letter& to = end_.memory.at(position);
    to.flushed_before = words_.flushed.load(std::memory_order_relaxed);
    end_.memory.write(to, message, *end_.codec);
    message.tensors = message.labels = nullptr;
    words_.sent.store(position + 1);
    end_.ring();
    return send_status::sent;
  }
  void send_flush(call_number call) noexcept override {
    if (words_.consumer_closed.load() != 0 || words_.flushed.load(std::memory_order_relaxed) > call) return;
    words_.flushed.store(call + 1);
    end_.ring();
  }
  void close() noexcept override {
    if (std::exchange(closed_, true)) return;
    words_.producer_closed.store(1);
    if (words_.consumer_closed.load() == 0) end_.ring();
  }
  void abandon() noexcept override { closed_ = true; }

 private:
  const toy_end end_;
  mailbox_words& words_;
  bool closed_ = false;
};

class toy_consumer final : public edge_consumer {
 public:
  explicit toy_consumer(toy_end end) : end_(std::move(end)), words_(end_.memory.words()) {}
  ~toy_consumer() override { toy_consumer::close(); }

  std::optional<activation> try_receive() override {
    if (closed_ || damaged_ || received_ == words_.sent.load()) return std::nullopt;
    auto got = mailbox::read(end_.memory.at(received_), *end_.codec);
    if (!got) {
      damaged_ = true;
      if (end_.on_damaged) end_.on_damaged(got.error());
      return std::nullopt;
    }
    ++received_;
    return std::move(*got);
  }
  void release() noexcept override {
    TROUPE_CHECK(released_ < received_, "one release per receive");
    words_.released.store(++released_);
    const std::uint64_t free = words_.slots - (words_.sent.load() - released_);
    if (words_.producer_closed.load() == 0 && (words_.credits_per_ring == 1 || free == words_.credits_per_ring))
      end_.ring();
  }
  std::optional<call_number> flushed_through() const noexcept override {
    if (damaged_) return std::nullopt;
    std::uint64_t ended = words_.flushed.load();
    if (received_ != words_.sent.load()) ended = end_.memory.at(received_).flushed_before;
    return ended == 0 ? std::nullopt : std::optional(static_cast<call_number>(ended - 1));
  }
  bool exhausted() const noexcept override {
    return !damaged_ && words_.producer_closed.load() != 0 && received_ == words_.sent.load();
  }
  void close() noexcept override {
    if (std::exchange(closed_, true)) return;
    words_.consumer_closed.store(1);
    if (words_.producer_closed.load() == 0) end_.ring();
  }
  void abandon() noexcept override { closed_ = true; }

 private:
  const toy_end end_;
  mailbox_words& words_;
  std::uint64_t received_ = 0;
  std::uint64_t released_ = 0;
  bool closed_ = false;
  bool damaged_ = false;
};

class toy_transport final : public transport {
 public:
  explicit toy_transport(std::shared_ptr<const payload_codec> codec) : codec_(std::move(codec)) {}

  std::uint64_t contact() const noexcept override { return 0; }
  bool may_be_contact(std::uint64_t said) const noexcept override { return said == 0; }
  bool loses_ends() const noexcept override { return false; }
  expected<edge_offer> offer(const edge_options& shape, edge_reach) override {
    return mailbox::create(shape).map([](unique_fd&& memory) { return edge_offer{.memory = blob(std::move(memory))}; });
  }
  expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return open(std::move(site)).map([](toy_end&& end) -> std::unique_ptr<edge_consumer> {
      return std::make_unique<toy_consumer>(std::move(end));
    });
  }
  expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return open(std::move(site)).map([](toy_end&& end) -> std::unique_ptr<edge_producer> {
      return std::make_unique<toy_producer>(std::move(end));
    });
  }

 private:
  expected<toy_end> open(edge_site site) const {
    if (!site.offer.memory) return fail(error_code::wire_malformed, "toy edge", "it comes without its memory");
    return site.offer.memory->copy().and_then(mailbox::open).map([&](mailbox&& memory) {
      return toy_end{std::move(memory), std::move(site.peer_bell), codec_, std::move(site.on_damaged)};
    });
  }

  const std::shared_ptr<const payload_codec> codec_;
};

expected<std::shared_ptr<transport>> toy_between(const transport_options& options) {
  return std::make_shared<toy_transport>(options.codec);
}

}  // namespace

const transport_row toy_row{.name = "toy", .within = nullptr, .between = toy_between};

}  // namespace troupe::testing
