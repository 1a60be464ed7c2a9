#pragma once

#include <span>
#include <utility>

#include "actors/link/wire_message.hpp"
#include "actors/workers/dispatch.hpp"

namespace troupe {

/// For messages that cannot be too large: what scores hold is bounded where it is made.
template <class Message>
[[nodiscard]] expected<wire_message> to_wire(const Message& message) {
  return codec::encode(message).map([](const codec::bytes& bytes) { return wire_of(bytes); });
}

/// See dispatch(std::span).
template <class... Messages, class Handler>
[[nodiscard]] expected<void> dispatch(const wire_message& message, Handler&& handle) {
  return dispatch<Messages...>(bytes_of(message), std::forward<Handler>(handle));
}

}  // namespace troupe
