#pragma once

#include <string>
#include <string_view>

#include "runtime/edge/tcp/node_network.hpp"

struct x509_st;

namespace troupe {

/// The name in a certificate as edges compare it: empty for the driver. E0707: peer_name_of().
[[nodiscard]] expected<std::string> node_of_certificate(x509_st* certificate);

/// A node's network for its workers, which inherit it in a memory_file and never get it over a network, as it has the
/// private key of the node: "troupe-network-1" and, each behind its size in bytes and a blank, the fields in the order
/// of their declaration.
[[nodiscard]] std::string to_text(const node_network& network);

/// Takes what to_text() gives; node_of is node_of_certificate. E0702 for anything else, without a part of the text.
[[nodiscard]] expected<node_network> parse_network(std::string_view text);
/// The same from an inherited memory_file, which it closes. E0614 if it cannot be read.
[[nodiscard]] expected<node_network> read_network(int descriptor);

}  // namespace troupe
