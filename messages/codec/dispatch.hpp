#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "messages/codec/codec.hpp"
#include "messages/codec/schema.hpp"
#include "messages/try.hpp"

namespace troupe {

/// Decodes and hands over what has come; E0705 for a kind that none of the handlers takes.
template <class... Messages, class Handler>
[[nodiscard]] expected<void> dispatch(std::span<const std::byte> message, Handler&& handle) {
  const auto kind = TROUPE_TRY(codec::kind_of(message));
  std::optional<expected<void>> done;
  const auto try_one = [&]<class Message>(const Message*) {
    if (codec::schema<Message>::kind != kind) return false;
    done = codec::decode<Message>(message).map([&](Message&& one) { handle(std::move(one)); });
    return true;
  };
  if ((try_one(static_cast<const Messages*>(nullptr)) || ...)) return std::move(*done);
  return fail(error_code::wire_unknown_kind, "control plane",
              "no handler here takes the message " + std::string(name_of(kind)));
}

}  // namespace troupe
