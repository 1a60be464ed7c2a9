// Goal: values of every message for the codec tests, and equality that does not go through the codec's own field lists.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messages/codec/codec.hpp"

namespace troupe::testing {

using all_messages =
    ::testing::Types<stage_ready, open_call, release_call, cancel_call, stop_request, stopped, score_batch, failure,
                     worker_hello, worker_assignment, wiring_order, call_opened, step_vote, step_decision, edge_lost,
                     edge_damaged, agent_setup, agent_ready, agent_refusal, start_worker, worker_started,
                     worker_message, blob_part, hand_over_blobs, drop_blob, kill_worker, worker_link_lost, agent_log,
                     worker_ended, worker_telemetry, stop_workers, workers_stopped, end_asked, ask_telemetry,
                     telemetry_told, check_file, file_answer, file_part, blob_part_taken, read_blob, blob_read,
                     numbered_message, signal_worker, apply_fault, run_begun>;

/// Random values in which short and long encodings of a number are about equally frequent.
class sample_maker {
 public:
  explicit sample_maker(std::uint64_t seed) : random_(seed) {}

  /// Any double, also NaN with a payload.
  double bits() { return std::bit_cast<double>(random_()); }
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
    m = {u64(), u64(), {static_cast<score_content>(below(4)), u32(), std::nullopt}, below(2) == 0};
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
    m = {address(), u32(), u64(), u32(), u32(), u32(), {}, u32(), {}, u32(), u64(), below(2) == 0, {}, {}};
    m.ties.resize(below(4));
    for (auto& each : m.ties) each = {u32(), u32()};
    m.faults.resize(below(3));
    for (auto& each : m.faults) each = {u32(), text()};
    m.boundaries.resize(below(40));
    for (auto& each : m.boundaries) each = u64();
    m.inputs.resize(below(4));
    for (auto& each : m.inputs) each = text();
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
  void fill(step_vote& m) {
    m = {{u32(), u32()}, u32(), u32(), u64(), u64(), bits(), {}, u64(), {}};
    m.squared_norms.resize(below(5));
    for (double& each : m.squared_norms) each = bits();
    if (below(2) == 0) fill(m.not_finite.emplace());
  }
  void fill(step_decision& m) { m = {u64(), u64(), below(2) == 0, bits(), bits()}; }
  void fill(edge_lost& m) {
    m.epoch = u32();
    fill(m.cause);
  }
  void fill(edge_damaged& m) {
    m.epoch = u32();
    m.channel = u64();
    fill(m.cause);
  }

  std::vector<std::byte> content() {
    std::vector<std::byte> made(below(300));
    for (std::byte& each : made) each = byte();
    return made;
  }
  template <class T>
  std::optional<T> maybe(T value) {
    return below(2) == 0 ? std::optional<T>{} : std::optional<T>(value);
  }
  void fill(agent_setup& m) {
    m = {text(), text(), text(), {}, {}, u32(), u32(), u32(), u32()};
    m.arguments.resize(below(5), text());
    m.environment.resize(below(5), {text(), text()});
  }
  void fill(agent_ready& m) { m = {u32()}; }
  void fill(agent_refusal& m) { fill(m.cause); }
  void fill(start_worker& m) { m = {u32(), u64(), u32()}; }
  void fill(worker_started& m) { m = {u32(), u32()}; }
  void fill(worker_message& m) { m = {u32(), content()}; }
  void fill(blob_part& m) { m = {u64(), u64(), u64(), content()}; }
  void fill(hand_over_blobs& m) {
    m = {u32(), text(), {}};
    m.blobs.resize(below(5));
    for (blob_reference& each : m.blobs) each = {u64(), maybe(u32())};
  }
  void fill(drop_blob& m) { m = {u64()}; }
  void fill(kill_worker& m) { m = {u32()}; }
  void fill(worker_link_lost& m) { m = {u32()}; }
  void fill(agent_log& m) { m = {maybe(u32()), u32(), text()}; }
  void fill(worker_ended& m) {
    m = {u32(), u32(), u32(), u32(), u32(), u64(), {}};
    m.last_lines.resize(below(5), text());
  }
  void fill(worker_telemetry& m) {
    m = {u32(), u32(), maybe(id()), maybe(u64()), maybe(u64()), u64(), u64(), u64(), u64(), u64(), u64()};
  }
  void fill(stop_workers& m) { m = {u64()}; }
  void fill(workers_stopped& m) { m = {u32()}; }
  void fill(end_asked& m) { m = {u32()}; }
  void fill(ask_telemetry& m) { m = {u64()}; }
  void fill(telemetry_told& m) { m = {u64()}; }
  void fill(check_file& m) { m = {u64(), {text(), text(), u64()}}; }
  void fill(file_answer& m) { m = {u64(), u32(), u64()}; }
  void fill(file_part& m) { m = {u64(), u64(), content()}; }
  void fill(blob_part_taken& m) { m = {u64()}; }
  void fill(read_blob& m) { m = {u64(), u64(), u64(), u64()}; }
  void fill(blob_read& m) { m = {u64(), content()}; }
  void fill(numbered_message& m) { m = {u64(), u64(), content()}; }
  void fill(signal_worker& m) { m = {u32(), u32()}; }
  void fill(apply_fault& m) { m = {u32(), u32(), u64()}; }
  void fill(run_begun& m) { m = {u64()}; }

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
  std::vector<std::tuple<std::uint32_t, std::string>> faults;
  for (const assigned_fault& each : m.faults) faults.emplace_back(each.number, each.text);
  std::vector<std::pair<stage_index, stage_index>> ties;
  for (const tied_stages& each : m.ties) ties.emplace_back(each.one, each.other);
  return std::tuple(key(m.address), m.incarnation, m.fingerprint, m.prefetch_slots, m.stage_slots, m.threads,
                    m.boundaries, m.runs_plain, m.inputs, m.loader_pages, m.warm_up_bytes, m.has_state, ties, faults);
}
inline auto key(const wiring_order& m) {
  std::vector<std::tuple<std::string, std::string, std::uint64_t>> contacts;
  for (const edge_contact& each : m.edge_contacts) contacts.emplace_back(each.node, each.address, each.number);
  std::vector<std::tuple<std::uint64_t, std::uint32_t, std::vector<std::uint64_t>>> offers;
  for (const offered_edge& each : m.offers) offers.emplace_back(each.channel, each.blobs, each.words);
  return std::tuple(m.epoch, m.from, m.present, contacts, offers);
}
inline auto key(const step_vote& m) {
  std::vector<std::uint64_t> norms;
  for (const double each : m.squared_norms) norms.push_back(std::bit_cast<std::uint64_t>(each));
  return std::tuple(m.address, m.incarnation, m.epoch, m.call, m.micro_batches, std::bit_cast<std::uint64_t>(m.weight),
                    norms, m.state_hash, m.not_finite ? to_string(*m.not_finite) : "");
}
inline auto key(const step_decision& m) {
  return std::tuple(m.call, m.step, m.is_applied, std::bit_cast<std::uint64_t>(m.gradient_scale),
                    std::bit_cast<std::uint64_t>(m.learning_rate));
}
inline auto key(const call_opened& m) {
  return std::tuple(m.call);
}
inline auto key(const open_call& m) {
  return std::tuple(m.call, m.first, m.scores.content, m.scores.classes, m.scores.metrics, m.trains);
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

inline auto key(const agent_setup& m) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const named_value& each : m.environment) variables.emplace_back(each.name, each.value);
  return std::tuple(m.program, m.program_hash, m.directory, m.arguments, variables, m.slots, m.first_rank, m.world_size,
                    m.bind_cores);
}
inline auto key(const agent_ready& m) {
  return std::tuple(m.pid);
}
inline auto key(const agent_refusal& m) {
  return key(m.cause);
}
inline auto key(const start_worker& m) {
  return std::tuple(m.rank, m.silence_ms);
}
inline auto key(const worker_started& m) {
  return std::tuple(m.rank, m.pid);
}
inline auto key(const worker_message& m) {
  return std::tuple(m.rank, m.message);
}
inline auto key(const blob_part& m) {
  return std::tuple(m.blob, m.size, m.offset, m.content);
}
inline auto key(const hand_over_blobs& m) {
  std::vector<std::pair<std::uint64_t, std::optional<std::uint32_t>>> blobs;
  for (const blob_reference& each : m.blobs) blobs.emplace_back(each.blob, each.page_of);
  return std::tuple(m.rank, m.name, blobs);
}
inline auto key(const drop_blob& m) {
  return std::tuple(m.blob);
}
inline auto key(const kill_worker& m) {
  return std::tuple(m.rank);
}
inline auto key(const worker_link_lost& m) {
  return std::tuple(m.rank);
}
inline auto key(const agent_log& m) {
  return std::tuple(m.rank, m.level, m.text);
}
inline auto key(const worker_ended& m) {
  return std::tuple(m.rank, m.pid, m.kind, m.value, m.core_dumped, m.max_resident_bytes, m.last_lines);
}
inline auto key(const worker_telemetry& m) {
  return std::tuple(m.rank, m.has_begun, m.working_on, m.since_ns, m.median_ns, m.micro_batches, m.samples,
                    m.forward_ns, m.busy_ns, m.arrived_bytes, m.faults);
}
inline auto key(const stop_workers& m) {
  return std::tuple(m.grace_ms);
}
inline auto key(const ask_telemetry& m) {
  return std::tuple(m.question);
}
inline auto key(const telemetry_told& m) {
  return std::tuple(m.question);
}
inline auto key(const check_file& m) {
  return std::tuple(m.number, m.file.path, m.file.hash, m.file.size);
}
inline auto key(const file_answer& m) {
  return std::tuple(m.number, m.state, m.bytes);
}
inline auto key(const file_part& m) {
  return std::tuple(m.number, m.offset, m.content);
}
inline auto key(const blob_part_taken& m) {
  return std::tuple(m.bytes);
}
inline auto key(const read_blob& m) {
  return std::tuple(m.question, m.blob, m.offset, m.bytes);
}
inline auto key(const blob_read& m) {
  return std::tuple(m.question, m.content);
}
inline auto key(const numbered_message& m) {
  return std::tuple(m.number, m.heard, m.message);
}
inline auto key(const signal_worker& m) {
  return std::tuple(m.rank, m.number);
}
inline auto key(const run_begun& m) {
  return std::tuple(m.age_ns);
}
inline auto key(const apply_fault& m) {
  return std::tuple(m.fault, m.with_workers, m.lasts_ms);
}
inline auto key(const workers_stopped& m) {
  return std::tuple(m.all_ended);
}
inline auto key(const end_asked& m) {
  return std::tuple(m.signal);
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
