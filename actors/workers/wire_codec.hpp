#pragma once

#include <cstring>
#include <span>

#include "actors/link/wire_message.hpp"
#include "messages/codec/codec.hpp"

namespace troupe {

/// For messages that cannot be too large: what scores hold is bounded where it is made.
template <class Message>
[[nodiscard]] expected<wire_message> to_wire(const Message& message) {
  return codec::encode(message).map([](const codec::bytes& bytes) {
    wire_message made;
    made.bytes.resize(bytes.size());
    std::memcpy(made.bytes.data(), bytes.data(), bytes.size());
    return made;
  });
}

[[nodiscard]] inline std::span<const std::byte> bytes_of(const wire_message& message) {
  return std::as_bytes(std::span{message.bytes});
}

/// Decodes and hands over what has come; E0705 for a kind that none of the handlers takes.
template <class... Messages, class Handler>
[[nodiscard]] expected<void> dispatch(const wire_message& message, Handler&& handle) {
  const auto kind = codec::kind_of(bytes_of(message));
  if (!kind) return tl::make_unexpected(kind.error());
  expected<void> done = fail(error_code::wire_unknown_kind, "control plane",
                             "nobody here expects the message " + std::string(name_of(*kind)));
  const auto try_one = [&]<class Message>(const Message*) {
    auto decoded = codec::decode<Message>(bytes_of(message));
    if (!decoded && decoded.error().code == error_code::wire_unknown_kind) return false;
    done = decoded.map([&](Message& one) { handle(std::move(one)); });
    return true;
  };
  static_cast<void>((try_one(static_cast<const Messages*>(nullptr)) || ...));
  return done;
}

}  // namespace troupe
