#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "messages/codec/codec.hpp"

namespace troupe {

/// Decodes and hands over what has come; E0705 for a kind that none of the handlers takes.
template <class... Messages, class Handler>
[[nodiscard]] expected<void> dispatch(std::span<const std::byte> message, Handler&& handle) {
  const auto kind = codec::kind_of(message);
  if (!kind) return tl::make_unexpected(kind.error());
  expected<void> done = fail(error_code::wire_unknown_kind, "control plane",
                             "no handler here takes the message " + std::string(name_of(*kind)));
  const auto try_one = [&]<class Message>(const Message*) {
    auto decoded = codec::decode<Message>(message);
    if (!decoded && decoded.error().code == error_code::wire_unknown_kind) return false;
    done = decoded.map([&](Message& one) { handle(std::move(one)); });
    return true;
  };
  static_cast<void>((try_one(static_cast<const Messages*>(nullptr)) || ...));
  return done;
}

}  // namespace troupe
