#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/edge/tcp/frame.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the first frame of a connection must be. Errors: E0707.
[[nodiscard]] expected<hello_frame> as_hello(const frame& first);

/// The hello of an edge, with the proof that its sender knows the secret; `said.listener` is zero.
[[nodiscard]] hello_frame make_hello(const edge_transcript& said) noexcept;

/// What a hello claims, under `run`, and whether its proof is one.
[[nodiscard]] edge_transcript transcript_of(const hello_frame& told, const edge_secret& run) noexcept;
[[nodiscard]] bool knows_secret(const hello_frame& told, const edge_secret& run) noexcept;

/// Whether `told` is the hello of the edge that is waited for. The proof is compared first and in constant time: no
/// other error is told without it. Errors: E0707.
[[nodiscard]] expected<void> check_hello(const hello_frame& told, const edge_key& wanted, std::uint32_t slots);

/// Whether a peer is of the node that it must be of; both as tcp_edge_options::peer. Where names are not compared it
/// has none. Errors: E0707.
[[nodiscard]] expected<void> check_peer(const std::string& where, const std::optional<std::string>& node,
                                        const std::optional<std::string>& wanted);

[[nodiscard]] tl::unexpected<error> refuse_peer(std::string where, std::string cause);

}  // namespace troupe
