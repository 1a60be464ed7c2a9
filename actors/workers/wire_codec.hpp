#pragma once

#include <cstring>
#include <span>
#include <utility>

#include "actors/link/wire_message.hpp"
#include "actors/workers/dispatch.hpp"

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

/// See dispatch(std::span).
template <class... Messages, class Handler>
[[nodiscard]] expected<void> dispatch(const wire_message& message, Handler&& handle) {
  return dispatch<Messages...>(std::as_bytes(std::span{message.bytes}), std::forward<Handler>(handle));
}

}  // namespace troupe
