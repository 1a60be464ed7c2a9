#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/frame.hpp"

/// Which fields a header has, in which order, and how great each may be: the one place that encoding and decoding
/// share. `fields(visitor, frame)` calls the visitor with each field and its bound.
namespace troupe::frame_fields {

template <class T>
inline constexpr frame_kind kind = frame_kind::ping;
template <>
inline constexpr frame_kind kind<activation_frame> = frame_kind::activation;
template <>
inline constexpr frame_kind kind<credit_frame> = frame_kind::credit;
template <>
inline constexpr frame_kind kind<flush_frame> = frame_kind::flush;
template <>
inline constexpr frame_kind kind<close_frame> = frame_kind::close;
template <>
inline constexpr frame_kind kind<hello_frame> = frame_kind::hello;
template <>
inline constexpr frame_kind kind<welcome_frame> = frame_kind::welcome;
template <>
inline constexpr frame_kind kind<challenge_frame> = frame_kind::challenge;
template <>
inline constexpr frame_kind kind<proof_frame> = frame_kind::proof;
template <>
inline constexpr frame_kind kind<control_frame> = frame_kind::control;
template <>
inline constexpr frame_kind kind<link_frame> = frame_kind::link;
template <>
inline constexpr frame_kind kind<join_frame> = frame_kind::join;

inline constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t any_u32 = std::numeric_limits<std::uint32_t>::max();

template <class Frame, class T>
concept either = std::same_as<std::remove_const_t<Frame>, T>;

template <class Visitor>
void fields(Visitor& visit, either<activation_frame> auto& f) {
  visit(f.id.call, any - 1);  // flushes are call + 1 inside
  visit(f.id.index, any);
  visit(f.samples.begin, any);
  visit(f.samples.end, any);
  visit(f.epoch, any_u32);
  visit(f.rows, limits::micro_batch_max);
  visit(f.tensor_bytes, limits::frame_payload_bytes_max);
  visit(f.label_bytes, limits::frame_payload_bytes_max);
  visit(f.has_checksum, std::uint64_t{1});
}
template <class Visitor>
void fields(Visitor& visit, either<credit_frame> auto& f) {
  visit(f.released, any);
}
template <class Visitor>
void fields(Visitor& visit, either<flush_frame> auto& f) {
  visit(f.call, any - 1);
}
template <class Visitor>
void fields(Visitor& visit, either<close_frame> auto& f) {
  visit(f.activations, any);
}
template <class Visitor>
void fields(Visitor& visit, either<hello_frame> auto& f) {
  visit(f.key.edge, any_u32);
  visit(f.key.epoch, any_u32);
  visit(f.key.incarnation, any_u32);
  visit(f.slots, std::uint64_t{limits::pipe_buffers_max});
  for (auto& word : f.nonce) visit(word, any);
  for (auto& word : f.proof) visit(word, any);
}
template <class Visitor>
void fields(Visitor& visit, either<challenge_frame> auto& f) {
  for (auto& word : f.nonce) visit(word, any);
  for (auto& word : f.proof) visit(word, any);
}
template <class Visitor>
void fields(Visitor& visit, either<proof_frame> auto& f) {
  for (auto& word : f.proof) visit(word, any);
}
template <class Visitor>
void fields(Visitor& visit, either<welcome_frame> auto& f) {
  visit(f.slots, std::uint64_t{limits::pipe_buffers_max});
}
template <class Visitor>
void fields(Visitor& visit, either<control_frame> auto& f) {
  visit(f.bytes, std::uint64_t{limits::wire_message_bytes_max});
}
template <class Visitor>
void fields(Visitor& visit, either<link_frame> auto& f) {
  visit(f.silence_ms, any_u32);
}
template <class Visitor>
void fields(Visitor& visit, either<join_frame> auto& f) {
  visit(f.bytes, std::uint64_t{limits::join_message_bytes_max});
}
template <class Visitor>
void fields(Visitor&, either<ping_frame> auto&) {}

struct counter {
  std::uint64_t count = 0;
  void operator()(const auto&, std::uint64_t) noexcept { ++count; }
};

/// How many fields a frame of this type has.
template <class Frame>
std::uint64_t arity() noexcept {
  counter counted;
  const Frame none{};
  fields(counted, none);
  return counted.count;
}

}  // namespace troupe::frame_fields
