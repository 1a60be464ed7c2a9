#pragma once

#include <cstdint>

#include <troupe/messages/error.hpp>
#include <troupe/runtime/edge/tcp/frame.hpp>

namespace troupe {

/// What the first frame of a connection must be. Errors: E0707.
[[nodiscard]] expected<hello_frame> as_hello(const frame& first);

/// Whether `told` is the hello of the edge that is waited for. The token is compared first and in constant time, and
/// no other error is told to who does not know it. Errors: E0707.
[[nodiscard]] expected<void> check_hello(const hello_frame& told, const edge_key& wanted, std::uint32_t slots);

/// In constant time.
[[nodiscard]] bool same_token(const edge_secret& left, const edge_secret& right) noexcept;

[[nodiscard]] tl::unexpected<error> refuse_peer(std::string where, std::string cause);

}  // namespace troupe
