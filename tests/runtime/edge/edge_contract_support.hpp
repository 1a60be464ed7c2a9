// Support of the edge contract: a counted payload, a bell watcher, and the fixture over a backend.
#pragma once

#include <atomic>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "runtime/edge/edge.hpp"

namespace troupe::testing {

/// Counts itself, so that a test sees when the last handle is gone; its value is its own among those of a test.
class counted_payload final : public payload {
 public:
  counted_payload(std::atomic<std::int64_t>& alive, std::uint64_t number) : value(number), alive_(alive) { ++alive_; }
  ~counted_payload() override { --alive_; }

  const std::uint64_t value;

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
///   void some_arrive(std::mt19937_64&);   // lets a random part arrive, or nothing
/// One that sends the bytes of payloads and not their handles has also
///   static constexpr bool copies = true;  // what was sent is dropped by the sender; what arrives is another payload
///   static constexpr bool views = true;   // ... and keeps its slot in use while it lives
///   static std::uint64_t value_of(const payload&);  // of a counted_payload's copy
///   static constexpr bool lags = true;    // the sender drops what was sent, and gets credits, a while later
/// A slow one may have
///   static constexpr std::uint64_t share_of_stress;  // its stress tests have this part of the messages
template <class Backend>
class edge_fixture : public ::testing::Test {
 protected:
  static constexpr bool copies = requires { requires Backend::copies; };
  static constexpr bool views = requires { requires Backend::views; };
  static constexpr bool lags = requires { requires Backend::lags; };
  static constexpr std::uint64_t share_of_stress = [] {
    if constexpr (requires { Backend::share_of_stress; }) return Backend::share_of_stress;
    return std::uint64_t{1};
  }();
  void await_drops() {
    if constexpr (lags) backend.settle();
  }

  void open(std::uint32_t slots, std::uint32_t credits_per_ring = 1) {
    ends = backend.factory().make({slots, &producer_bell, &consumer_bell, credits_per_ring});
  }

  activation message(std::uint64_t index, call_number call = 0) {
    return {{call, index}, {index * 10, index * 10 + 7}, new_payload(), new_payload()};
  }
  payload_ptr new_payload() { return std::make_shared<const counted_payload>(alive, ++payloads_made); }

  /// Whether what arrived is what was given: the same handle, or the same value.
  bool is_same(const payload_ptr& got, const payload_ptr& given) const {
    if constexpr (copies) {
      return got && given && Backend::value_of(*got) == dynamic_cast<const counted_payload&>(*given).value;
    } else {
      return got == given;
    }
  }
  /// How many of so many payloads under way are kept alive by the edge.
  static std::int64_t kept(std::uint64_t payloads) { return copies ? 0 : static_cast<std::int64_t>(payloads); }

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
  std::atomic<std::uint64_t> payloads_made{0};
  doorbell producer_bell;
  doorbell consumer_bell;
  Backend backend;
  edge_ends ends;
};

}  // namespace troupe::testing
