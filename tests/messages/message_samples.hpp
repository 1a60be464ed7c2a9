// Goal: values of every message for the codec tests, and equality that does not go through the codec's own field lists.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "messages/codec/codec.hpp"

namespace troupe::testing {

using all_messages =
    ::testing::Types<stage_ready, open_call, release_call, cancel_call, stop_request, stopped, score_batch, failure,
                     worker_hello, worker_assignment, wiring_order, call_opened, edge_lost, edge_damaged>;

/// Random values in which short and long encodings of a number are about equally frequent.
class sample_maker {
 public:
  explicit sample_maker(std::uint64_t seed) : random_(seed) {}

  std::uint64_t u64() { return random_() >> (random_() % 64); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(u64()); }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::byte byte() { return static_cast<std::byte>(random_() & 0xffu); }

  std::string text() {
    std::string t(below(300), ' ');
    for (char& c : t) c = static_cast<char>(random_() & 0xffu);
    return t;
  }
  micro_batch_id id() { return {u64(), u64()}; }
  stage_address address() { return {u32(), u32()}; }

  void fill(stage_ready& m) { m = {address(), u32()}; }
  void fill(open_call& m) {
    m = {u64(), u64(), {static_cast<score_content>(below(4)), u32(), std::nullopt}};
    if (below(3) == 0) return;
    m.scores.metrics.emplace(below(5));
    for (std::string& each : *m.scores.metrics) each = text();
  }
  void fill(release_call& m) { m = {u64()}; }
  void fill(cancel_call& m) {
    m.call = u64();
    fill(m.cause);
  }
  void fill(stop_request& m) { m.mode = below(2) == 0 ? stop_mode::drain : stop_mode::abort; }
  void fill(stopped& m) { m = {address(), u32(), u64(), u64()}; }
  void fill(score& m) {
    m = {id(), u32(), u32(), u64(), {}, nullptr};
    m.words.resize(below(40));
    for (auto& w : m.words) w = u64();
  }
  void fill(score_batch& m) {
    m.scores.resize(below(65));
    for (score& s : m.scores) fill(s);
  }
  void fill(failure& m) {
    m = {address(), u32(), text(), std::nullopt, {}, u32()};
    if (below(2) == 0) m.micro_batch = id();
    fill(m.cause);
  }
  void fill(error& m) {
    const auto codes = all_error_explanations();
    m = {codes[below(codes.size())].code, text(), text(), text()};
  }
  void fill(worker_hello& m) { m = {u32(), u64()}; }
  void fill(worker_assignment& m) {
    m = {address(), u32(), u64(), u32(), u32(), u32(), {}, u32(), u64()};
    m.boundaries.resize(below(40));
    for (auto& each : m.boundaries) each = u64();
  }
  void fill(wiring_order& m) {
    m = {u32(), id(), {}, {}, {}};
    m.present.resize(below(40));
    for (auto& each : m.present) each = u64();
    m.edge_contacts.resize(m.present.size());
    for (auto& each : m.edge_contacts) each = {text(), text(), u64()};
    m.offers.resize(below(5));
    for (auto& each : m.offers) each = {u64(), u32(), {u64(), u64()}};
  }
  void fill(call_opened& m) { m = {u64()}; }
  void fill(edge_lost& m) {
    m.epoch = u32();
    fill(m.cause);
  }
  void fill(edge_damaged& m) {
    m.epoch = u32();
    m.channel = u64();
    fill(m.cause);
  }

  template <class T>
  T make() {
    T message;
    fill(message);
    return message;
  }

 private:
  std::mt19937_64 random_;
};

inline auto key(const stage_address& m) {
  return std::tuple(m.stage, m.replica);
}
inline auto key(const stage_ready& m) {
  return std::tuple(m.address, m.incarnation);
}
inline auto key(const worker_hello& m) {
  return std::tuple(m.pid, m.edge_contact);
}
inline auto key(const worker_assignment& m) {
  return std::tuple(key(m.address), m.incarnation, m.fingerprint, m.prefetch_slots, m.stage_slots, m.threads,
                    m.boundaries, m.loader_pages, m.warm_up_bytes);
}
inline auto key(const wiring_order& m) {
  std::vector<std::tuple<std::string, std::string, std::uint64_t>> contacts;
  for (const edge_contact& each : m.edge_contacts) contacts.emplace_back(each.node, each.address, each.number);
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::vector<std::uint64_t>>> offers;
  for (const offered_edge& each : m.offers) offers.emplace_back(each.channel, each.blobs, each.words);
  return std::tuple(m.epoch, m.from, m.present, contacts, offers);
}
inline auto key(const call_opened& m) {
  return std::tuple(m.call);
}
inline auto key(const open_call& m) {
  return std::tuple(m.call, m.first, m.scores.content, m.scores.classes, m.scores.metrics);
}
inline auto key(const release_call& m) {
  return std::tuple(m.call);
}
inline auto key(const error& m) {
  return std::tuple(m.code, m.where, m.cause, m.fix);
}
inline auto key(const edge_lost& m) {
  return std::tuple(m.epoch, key(m.cause));
}
inline auto key(const edge_damaged& m) {
  return std::tuple(m.epoch, m.channel, key(m.cause));
}
inline auto key(const cancel_call& m) {
  return std::tuple(m.call, key(m.cause));
}
inline auto key(const stop_request& m) {
  return std::tuple(m.mode);
}
inline auto key(const stopped& m) {
  return std::tuple(m.address, m.incarnation, m.micro_batches, m.forward_nanoseconds);
}
inline auto key(const score& m) {
  return std::tuple(m.id, m.sink, m.sender_incarnation, m.samples, m.words);
}
inline auto key(const score_batch& m) {
  std::vector<decltype(key(score{}))> keys;
  for (const score& s : m.scores) keys.push_back(key(s));
  return keys;
}
inline auto key(const failure& m) {
  return std::tuple(m.address, m.incarnation, m.stage_name, m.micro_batch, key(m.cause), m.attempts);
}

/// "93 01 02" as bytes.
inline codec::bytes from_hex(const std::string& hex) {
  codec::bytes out;
  std::size_t end = 0;
  for (std::size_t at = 0; at < hex.size(); at += end) {
    out.push_back(static_cast<std::byte>(std::stoul(hex.substr(at), &end, 16)));
  }
  return out;
}

}  // namespace troupe::testing
