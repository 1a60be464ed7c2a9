#include "edge_lane.hpp"

#include <utility>

#include <sched.h>

#include "block_codec.hpp"

namespace troupe::bench {
namespace {

using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// Between two looks at the peer: a system call that engines do not make for every park.
constexpr std::chrono::nanoseconds park_max = 100ms;

class edge_lane final : public lane_end {
 public:
  edge_lane(edge_lane_parts parts, patience wait) : parts_(std::move(parts)), wait_(std::move(wait)) {}

  void begin(const traffic& coming) override { bytes_ = coming.bytes; }

  void send() override {
    activation message{{0, sent_++}, {0, 1}, std::make_shared<const block>(source().first(bytes_)), nullptr};
    const bool has_time = std::exchange(has_waited_, false);
    await([&] {
      const send_status status = has_time ? parts_.producer->try_send_now(message) : parts_.producer->try_send(message);
      if (status == send_status::closed) throw transport_failure("the peer has closed its edge");
      return status == send_status::sent;
    });
  }

  std::uint64_t receive() override {
    std::optional<activation> got;
    has_waited_ = await([&] { return (got = parts_.consumer->try_receive()).has_value(); });
    const std::uint64_t sum = touched(block_codec::bytes_of(*got->tensors).first(bytes_));
    got.reset();
    parts_.consumer->release();
    return sum;
  }

  void close() noexcept override {
    parts_.producer->close();
    parts_.consumer->close();
  }

 private:
  /// As engine_thread drives an engine: spins and yields for a while, then announces, looks once more, and parks.
  /// False: there was nothing to wait for.
  template <class Attempt>
  bool await(Attempt attempt) {
    if (attempt()) return false;
    const auto start = clock_type::now();
    auto next_look = start + park_max;
    while (!spin(attempt) && !park(attempt)) {
      const auto now = clock_type::now();
      if (now < next_look) continue;
      next_look = now + park_max;
      parts_.trouble->check();
      if (wait_.look_after_peer) wait_.look_after_peer();
      if (now > start + wait_.limit) throw transport_failure("the peer was silent for too long");
    }
    return true;
  }

  template <class Attempt>
  bool spin(Attempt& attempt) {
    const auto until = clock_type::now() + wait_.spin;
    while (clock_type::now() < until) {
      sched_yield();
      if (attempt()) return true;
    }
    return false;
  }

  template <class Attempt>
  bool park(Attempt& attempt) {
    const std::uint32_t epoch = parts_.bell->prepare_to_park();
    if (attempt()) {
      parts_.bell->stay_awake();
      return true;
    }
    parts_.bell->wait(epoch, park_max);
    return attempt();
  }

  const edge_lane_parts parts_;
  const patience wait_;
  std::size_t bytes_ = 0;
  std::uint64_t sent_ = 0;
  /// For the latest message, as a stage whose input it was: then it writes its output itself.
  bool has_waited_ = false;
};

}  // namespace

void edge_trouble::put(const error& told) {
  const std::scoped_lock lock(guard_);
  text_ = to_string(told);
  told_.store(true, std::memory_order_release);
}

void edge_trouble::check() const {
  if (!told_.load(std::memory_order_acquire)) return;
  const std::scoped_lock lock(guard_);
  throw transport_failure(text_);
}

std::unique_ptr<lane_end> make_edge_lane(edge_lane_parts parts, patience wait) {
  return std::make_unique<edge_lane>(std::move(parts), std::move(wait));
}

}  // namespace troupe::bench
