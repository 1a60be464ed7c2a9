#include "testing/simulation/wires.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "testing/simulation/wire_frames.hpp"

namespace troupe::simulation {

/// What each end knows, and the frames on their way.
struct wire {
  /// The bell may be gone by now: a queue that abandons rings none.
  ~wire() {
    if (queue) queue->abandon();
  }

  std::uint64_t number = 0;
  std::uint32_t slots = 1;
  epoch_number epoch = 0;
  std::size_t channel = 0;
  bool is_lost = false;

  struct end {
    std::shared_ptr<process_state> process;
    doorbell* bell = nullptr;
    std::function<void(const error&)> on_lost;
    bool is_open = false;
    /// Closed or abandoned: it hears nothing any more.
    bool is_over = false;
    bool peer_closed = false;

    void ring() const {
      if (is_open && !is_over && process->lives) bell->ring();
    }
    [[nodiscard]] bool speaks() const { return is_open && process->lives; }
  };
  end producer;
  /// The network's end of the producer's inproc edge.
  std::unique_ptr<edge_consumer> queue;
  std::uint64_t queue_in_use = 0;
  std::uint64_t sent = 0;
  std::uint64_t released_known = 0;
  std::deque<std::vector<std::byte>> down;
  nanoseconds last_down{0};
  bool next_is_damaged = false;
  bool next_goes_astray = false;
  nanoseconds next_is_late{0};
  bool next_comes_twice = false;
  bool next_comes_behind = false;

  struct arrived_one {
    activation message;
    std::optional<call_number> flushed_before;
    /// It has no slot of its own.
    bool is_copy = false;
  };
  end consumer;
  std::deque<arrived_one> arrived;
  /// Until the next one has passed, or for a while.
  std::optional<arrived_one> held;
  std::uint64_t holds = 0;
  std::uint64_t copies_in_use = 0;
  std::optional<call_number> flushed;
  std::uint64_t in_use = 0;
  std::uint64_t released = 0;
  std::uint64_t taken_in = 0;
  /// Releases, or the end of the consumer.
  std::deque<std::uint64_t> up;
  nanoseconds last_up{0};
};

namespace {

constexpr std::uint64_t consumer_closed = ~std::uint64_t{0};

class wire_producer final : public edge_producer {
 public:
  wire_producer(wire_network& network, std::unique_ptr<edge_producer> queue, std::shared_ptr<wire> on)
      : network_(network), queue_(std::move(queue)), wire_(std::move(on)) {}
  ~wire_producer() override { wire_producer::close(); }

  [[nodiscard]] std::uint32_t slots() const noexcept override { return queue_->slots(); }
  [[nodiscard]] std::uint32_t credits() const noexcept override { return queue_->credits(); }
  [[nodiscard]] bool has_credit() noexcept override { return queue_->has_credit(); }
  [[nodiscard]] send_status try_send(activation& message) override {
    if (const send_status status = queue_->try_send(message); status != send_status::sent) return status;
    ++wire_->sent;
    ++wire_->queue_in_use;
    const auto out = wire_->queue->try_receive();
    if (!is_heard()) return send_status::sent;
    network_.note(happening::edge_sent, *wire_, wire_->producer.process.get(), out->id);
    if (std::exchange(wire_->next_goes_astray, false)) return send_status::sent;
    network_.send_down(wire_, bytes_of(*out, wire_->epoch));
    return send_status::sent;
  }
  void send_flush(call_number call) noexcept override {
    if (is_heard() && !wire_->producer.peer_closed) network_.send_down(wire_, bytes_of(frame{flush_frame{call}}));
  }
  void abandon() noexcept override {
    queue_->abandon();
    wire_->producer.is_over = true;
  }
  void close() noexcept override {
    queue_->close();
    if (is_heard()) network_.send_down(wire_, bytes_of(frame{close_frame{wire_->sent}}));
    wire_->producer.is_over = true;
  }

 private:
  [[nodiscard]] bool is_heard() const {
    return !wire_->producer.is_over && wire_->producer.process->lives && !wire_->is_lost;
  }
  wire_network& network_;
  const std::unique_ptr<edge_producer> queue_;
  const std::shared_ptr<wire> wire_;
};

class wire_consumer final : public edge_consumer {
 public:
  wire_consumer(wire_network& network, std::shared_ptr<wire> on) : network_(network), wire_(std::move(on)) {}
  ~wire_consumer() override { wire_consumer::close(); }

  [[nodiscard]] std::optional<activation> try_receive() override {
    if (wire_->consumer.is_over || wire_->arrived.empty()) return std::nullopt;
    std::optional<activation> message(std::move(wire_->arrived.front().message));
    ++(wire_->arrived.front().is_copy ? wire_->copies_in_use : wire_->in_use);
    wire_->arrived.pop_front();
    network_.note(happening::edge_taken, *wire_, wire_->consumer.process.get(), message->id);
    return message;
  }
  void release() noexcept override {
    if (wire_->copies_in_use > 0) return static_cast<void>(--wire_->copies_in_use);
    TROUPE_CHECK(wire_->in_use > 0, "one release per receive");
    --wire_->in_use;
    ++wire_->released;
    if (!is_heard()) return;
    network_.note(happening::edge_freed, *wire_, wire_->consumer.process.get());
    network_.send_up(wire_, wire_->released);
  }
  [[nodiscard]] std::optional<call_number> flushed_through() const noexcept override {
    auto flushed = wire_->held ? wire_->held->flushed_before : wire_->flushed;
    for (const wire::arrived_one& each : wire_->arrived) flushed = std::min(flushed, each.flushed_before);
    return flushed;
  }
  [[nodiscard]] bool exhausted() const noexcept override {
    return wire_->consumer.peer_closed && wire_->arrived.empty() && !wire_->held;
  }
  void abandon() noexcept override { wire_->consumer.is_over = true; }
  void close() noexcept override {
    if (is_heard()) network_.send_up(wire_, consumer_closed);
    wire_->consumer.is_over = true;
  }

 private:
  [[nodiscard]] bool is_heard() const {
    return !wire_->consumer.is_over && wire_->consumer.process->lives && !wire_->is_lost;
  }
  wire_network& network_;
  const std::shared_ptr<wire> wire_;
};

class wire_transport final : public transport {
 public:
  wire_transport(wire_network& network, std::shared_ptr<process_state> process)
      : network_(network), process_(std::move(process)) {}
  [[nodiscard]] std::uint64_t contact() const noexcept override { return process_->number + 1; }
  [[nodiscard]] bool may_be_contact(std::uint64_t said) const noexcept override { return said != 0; }
  [[nodiscard]] bool loses_ends() const noexcept override { return network_.how().loses_ends; }
  [[nodiscard]] expected<edge_offer> offer(const edge_options& shape, edge_reach) override {
    return network_.make(shape);
  }
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override {
    return open(site, &wire::consumer).map([&](std::shared_ptr<wire>&& found) -> std::unique_ptr<edge_consumer> {
      return std::make_unique<wire_consumer>(network_, std::move(found));
    });
  }
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override {
    return open(site, &wire::producer).map([&](std::shared_ptr<wire>&& found) -> std::unique_ptr<edge_producer> {
      network_.note(happening::edge_made, *found, process_.get());
      edge_options shape = site.shape;
      shape.consumer_bell = nullptr;
      shape.credits_per_ring = 1;  // each credit comes in a frame of its own
      edge_ends queue = inproc_edge_factory(network_.how().credits).make(shape);
      found->queue = std::move(queue.consumer);
      found->queue_in_use = 0;  // an order that came twice opens it again
      if (found->producer.peer_closed) found->queue->close();
      return std::make_unique<wire_producer>(network_, std::move(queue.producer), std::move(found));
    });
  }

 private:
  expected<std::shared_ptr<wire>> open(edge_site& site, wire::end wire::*which) {
    auto found = site.offer.words.empty() ? network_.find(0) : network_.find(site.offer.words.front());
    if (!found) return found;
    (*found)->epoch = site.epoch;
    (*found)->channel = site.channel;
    wire::end& end = (**found).*which;
    end.process = process_;
    end.bell = site.shape.consumer_bell;
    end.on_lost = std::move(site.on_lost);
    end.is_open = true;
    return found;
  }
  wire_network& network_;
  const std::shared_ptr<process_state> process_;
};

}  // namespace

wire_network::~wire_network() = default;

std::shared_ptr<transport> wire_network::of(std::shared_ptr<process_state> process) {
  return std::make_shared<wire_transport>(*this, std::move(process));
}

expected<std::shared_ptr<wire>> wire_network::find(std::uint64_t number) const {
  if (number == 0 || number > wires_.size()) {
    return fail(error_code::wire_malformed, "edge", "there is no such edge");
  }
  return wires_[number - 1];
}

edge_offer wire_network::make(const edge_options& shape) {
  auto made = std::make_shared<wire>();
  made->number = wires_.size() + 1;
  made->slots = shape.slots;
  wires_.push_back(std::move(made));
  return {.memory = memory_, .words = {wires_.size()}};
}

void wire_network::note(happening what, const wire& on, const process_state* who, micro_batch_id id) {
  seen_.note({.at_ns = now_.count(),
              .what = what,
              .worker = who == nullptr ? 0 : who->number,
              .epoch = on.epoch,
              .call = id.call,
              .index = what == happening::edge_made ? on.channel : id.index,
              .value = on.number,
              .other = on.slots});
}

void wire_network::send_down(const std::shared_ptr<wire>& on, std::vector<std::byte> frame) {
  if (std::exchange(on->next_is_damaged, false)) {
    frame[random_.below(frame.size())] ^= static_cast<std::byte>(1u << random_.below(8));
  }
  on->down.push_back(std::move(frame));
  on->last_down = std::max(on->last_down, now_ + nanoseconds{random_.between(1'000, 80'000)}) +
                  std::exchange(on->next_is_late, nanoseconds{0});
  later_.at(on->last_down, [this, raw = on.get()] { arrive_down(wires_[raw->number - 1]); });
}

void wire_network::send_up(const std::shared_ptr<wire>& on, std::uint64_t released) {
  on->up.push_back(released);
  on->last_up = std::max(on->last_up, now_ + nanoseconds{random_.between(1'000, 80'000)});
  later_.at(on->last_up, [this, raw = on.get()] { arrive_up(wires_[raw->number - 1]); });
}

void wire_network::arrive_down(const std::shared_ptr<wire>& on) {
  const std::vector<std::byte> bytes = std::move(on->down.front());
  on->down.pop_front();
  if (on->is_lost || on->consumer.is_over) return;
  const auto what = read(bytes, options_.payloads);
  if (!what) return lose(on, what.error());
  if (const auto* sent = std::get_if<activation_frame>(&what->head)) {
    auto message = rebuilt(*sent, what->payload);
    if (!message) return lose(on, message.error());
    take_in(on, std::move(*message));
  } else if (const auto* flush = std::get_if<flush_frame>(&what->head)) {
    on->flushed = std::max(on->flushed, std::optional(flush->call));
  } else if (std::get<close_frame>(what->head).activations != on->taken_in) {
    return lose(on, {error_code::wire_malformed, "edge", "it was closed before all had arrived", {}});
  } else {
    on->consumer.peer_closed = true;
  }
  on->consumer.ring();
}

/// As faulty_consumer has it, above the slots.
void wire_network::take_in(const std::shared_ptr<wire>& on, activation message) {
  ++on->taken_in;
  wire::arrived_one one{std::move(message), on->flushed};
  if (!on->held && std::exchange(on->next_comes_behind, false)) {
    on->held = std::move(one);
    later_.at(now_ + limits::fault_reorder_time, [this, raw = on.get(), which = ++on->holds] {
      const auto& waits = wires_[raw->number - 1];
      if (!waits->held || waits->holds != which) return;
      waits->arrived.push_back(*std::exchange(waits->held, std::nullopt));
      waits->consumer.ring();
    });
    return;
  }
  auto copy = std::exchange(on->next_comes_twice, false) ? std::optional(one) : std::nullopt;
  on->arrived.push_back(std::move(one));
  if (copy) {
    copy->is_copy = true;
    on->arrived.push_back(std::move(*copy));
  }
  if (on->held) on->arrived.push_back(*std::exchange(on->held, std::nullopt));
}

void wire_network::arrive_up(const std::shared_ptr<wire>& on) {
  const std::uint64_t released = on->up.front();
  on->up.pop_front();
  if (on->is_lost || on->producer.is_over) return;
  if (released == consumer_closed) {
    on->producer.peer_closed = true;
    if (on->queue) on->queue->close();
    return;
  }
  for (; on->released_known < released; ++on->released_known) {
    if (on->queue_in_use == 0) continue;
    --on->queue_in_use;
    on->queue->release();
  }
}

/// Both ends are silent from then on, and those who live are told.
void wire_network::lose(const std::shared_ptr<wire>& on, const error& why) {
  if (std::exchange(on->is_lost, true)) return;
  note(happening::edge_lost, *on, nullptr);
  for (wire::end wire::*which : {&wire::producer, &wire::consumer}) {
    later_.at(now_ + nanoseconds{random_.between(1'000, 3'000'000)}, [raw = on.get(), which, why] {
      const wire::end& end = raw->*which;
      if (end.speaks() && !end.is_over && !end.peer_closed && end.on_lost) end.on_lost(why);
    });
  }
}

void wire_network::died(const process_state& process) {
  for (std::size_t at = 0; at < wires_.size(); ++at) {
    const std::shared_ptr<wire>& each = wires_[at];
    const bool has_it = each->producer.process.get() == &process || each->consumer.process.get() == &process;
    if (!has_it) continue;
    if (options_.loses_ends) {
      lose(each, {error_code::peer_lost, "edge", "the process at its other end is gone", {}});
    }
  }
}

std::uint64_t wire_network::open_ends() const {
  std::uint64_t count = 0;
  for (const auto& each : wires_) {
    for (const wire::end* end : {&each->producer, &each->consumer}) {
      if (end->speaks() && !end->is_over && !end->peer_closed) ++count;
    }
  }
  return count;
}

std::shared_ptr<wire> wire_network::draw_live(const channels& of) {
  std::vector<std::shared_ptr<wire>> live;
  for (const auto& each : wires_) {
    const bool both = each->producer.speaks() && each->consumer.speaks();
    const bool is_meant = of.empty() || std::ranges::find(of, each->channel) != of.end();
    if (is_meant && both && !each->is_lost && !each->producer.is_over && !each->consumer.is_over) live.push_back(each);
  }
  return live.empty() ? nullptr : live[random_.below(live.size())];
}

bool wire_network::lose_one(const channels& of) {
  const auto chosen = draw_live(of);
  if (chosen) lose(chosen, {error_code::peer_lost, "edge", "its connection broke", {}});
  return chosen != nullptr;
}

bool wire_network::lead_one_astray(const channels& of) {
  const auto chosen = draw_live(of);
  if (chosen) chosen->next_goes_astray = true;
  return chosen != nullptr;
}

bool wire_network::delay_one(const channels& of, nanoseconds by) {
  const auto chosen = draw_live(of);
  if (chosen) chosen->next_is_late = by;
  return chosen != nullptr;
}

bool wire_network::double_one(const channels& of) {
  const auto chosen = draw_live(of);
  if (chosen) chosen->next_comes_twice = true;
  return chosen != nullptr;
}

bool wire_network::reorder_one(const channels& of) {
  const auto chosen = draw_live(of);
  if (chosen) chosen->next_comes_behind = true;
  return chosen != nullptr;
}

bool wire_network::damage_one(const channels& of) {
  const auto chosen = draw_live(of);
  if (!chosen) return false;
  note(happening::edge_damaged, *chosen, nullptr);
  chosen->next_is_damaged = true;
  return true;
}

}  // namespace troupe::simulation
