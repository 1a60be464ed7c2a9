#pragma once

#include <array>
#include <cstdint>

#include "runtime/edge/tcp/edge_key.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// 128 random bits, made by each side for each connection: a proof of one connection is none of another.
using edge_nonce = std::array<std::uint64_t, 2>;
/// HMAC-SHA256 under the secret of the run, which itself is never sent.
using edge_proof = std::array<std::uint64_t, 4>;

/// E0614 if the system has no random bits.
[[nodiscard]] expected<edge_nonce> make_nonce();

/// What both sides of a connection have said so far, and what they prove to know the secret of.
struct edge_transcript {
  edge_key key;
  std::uint32_t slots = 0;
  edge_nonce caller{};
  edge_nonce listener{};  ///< zero in proof_of::hello
};

/// Whose proof it is: none can be sent back as another one.
enum class proof_of : std::uint8_t { hello = 1, listener = 2, caller = 3 };

[[nodiscard]] edge_proof prove(proof_of which, const edge_transcript& said) noexcept;

/// In constant time.
[[nodiscard]] bool same_proof(const edge_proof& left, const edge_proof& right) noexcept;

}  // namespace troupe
