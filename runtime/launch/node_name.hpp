#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace troupe {

/// Why a text is no node's name: at which byte, from 0, and the finding.
struct name_fault {
  std::size_t at = 0;
  std::string cause;
  /// What to write where a user, a port or a count stands beside the name; else empty.
  std::string fix = {};
};

/// Can the byte stand in a host name? Letters and digits of ASCII, '-', '.' and '_': the last one stands in names of
/// containers and in aliases of ssh.
bool is_name_byte(char c) noexcept;

/// Reads the name or the address of a node: a host name, an IPv4 address, or an IPv6 address with or without brackets
/// and zone ("[fe80::1%eth0]"). Gives the name that is compared and handed on: a host name as it is written, an address
/// in its shortest spelling without brackets.
///
/// A name does not start with '-' or '.', so that no command takes it for an option; it has limits::node_name_bytes_max
/// bytes, each part between dots 1 to limits::node_label_bytes_max. Digits and dots alone are an IPv4 address: others
/// would take "1" for 0.0.0.1.
tl::expected<std::string, name_fault> read_node_name(std::string_view text);

}  // namespace troupe
