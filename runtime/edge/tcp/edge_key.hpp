#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <troupe/ids.hpp>

namespace troupe {

/// A secret of 128 random bits that the driver gives to all processes of a run: a peer that does not know it is
/// untrusted.
using edge_secret = std::array<std::uint64_t, 2>;

/// Which edge a connection is for. Both ends must name the same key, down to the incarnation of the sending stage.
struct edge_key {
  edge_secret run{};
  std::uint32_t edge = 0;
  epoch_number epoch = 0;
  incarnation_number incarnation = 0;

  friend bool operator==(const edge_key&, const edge_key&) = default;
};

/// "edge 3 (epoch 1, incarnation 0)"; never the token.
std::string to_string(const edge_key& key);

}  // namespace troupe
