// Support of the edge contract: a counted payload, a bell watcher, and the fixture over a backend.
#pragma once

#include <atomic>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include <troupe/runtime/edge/edge.hpp>

namespace troupe::testing {

/// Counts itself, so that a test sees when the last handle is gone.
class counted_payload final : public payload {
 public:
  explicit counted_payload(std::atomic<std::int64_t>& alive) : alive_(alive) { ++alive_; }
  ~counted_payload() override { --alive_; }

 private:
  std::atomic<std::int64_t>& alive_;
};

/// Tells whether a bell rang since it was last asked.
class bell_watch {
 public:
  explicit bell_watch(const doorbell& bell) : bell_(bell), seen_(bell.epoch()) {}
  bool rang() { return std::exchange(seen_, bell_.epoch()) != bell_.epoch(); }

 private:
  const doorbell& bell_;
  std::uint32_t seen_;
};

/// A backend is a default-constructible type with
///   edge_factory& factory();
///   void settle();                        // returns when all that is under way has arrived
///   void some_arrive(std::mt19937_64&);   // lets a random part of it arrive, or nothing
template <class Backend>
class edge_fixture : public ::testing::Test {
 protected:
  void open(std::uint32_t slots, std::uint32_t credits_per_ring = 1) {
    ends = backend.factory().make({slots, &producer_bell, &consumer_bell, credits_per_ring});
  }

  activation message(std::uint64_t index, call_number call = 0) {
    return {{call, index}, {index * 10, index * 10 + 7}, 3, new_payload(), new_payload()};
  }
  payload_ptr new_payload() { return std::make_shared<const counted_payload>(alive); }

  send_status send(std::uint64_t index, call_number call = 0) {
    activation sent = message(index, call);
    return ends.producer->try_send(sent);
  }
  void fill(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(send(i), send_status::sent);
    backend.settle();
  }
  void release() {
    ends.consumer->release();
    backend.settle();
  }
  /// Receives and drops one message; its slot stays in use.
  bool receive() { return ends.consumer->try_receive().has_value(); }

  std::atomic<std::int64_t> alive{0};
  doorbell producer_bell;
  doorbell consumer_bell;
  Backend backend;
  edge_ends ends;
};

}  // namespace troupe::testing
