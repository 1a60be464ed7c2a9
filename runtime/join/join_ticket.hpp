#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/join/fingerprint.hpp"
#include "runtime/join/join_secret.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Where a job is joined, the same for all its nodes.
struct join_target {
  /// Host names or numeric addresses of the driver (the characters of is_node_name), in the order of attempts: 1 to
  /// limits::join_addresses_max.
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  authority_fingerprint authority{};
};

/// By which one node joins one job, once, before it expires.
struct join_ticket {
  join_target target;
  std::string node;
  join_secret secret;
  /// Seconds since 1970 in UTC, by the clock of the driver: when the ticket was made, and from when on it is void.
  std::int64_t issued_unix_seconds = 0;
  std::int64_t expires_unix_seconds = 0;

  /// How long it is good, whatever other clocks say.
  [[nodiscard]] std::chrono::seconds lifetime() const noexcept {
    return std::chrono::seconds(expires_unix_seconds - issued_unix_seconds);
  }
};

/// A ticket as one line without its end: "troupe-join-2:" and in base64url
///   32 bytes  authority     SHA-256 over its certificate in DER
///   32 bytes  secret
///    8 bytes  time          when it was made, seconds since 1970
///    8 bytes  expiry        the same; later than that, by limits::credentials_valid_after at most
///    2 bytes  port
///    1 byte   size of the node's name, and the name
///    1 byte   number of addresses; each is a byte with its size, and the address
///    4 bytes  checksum      the first of SHA-256 over the prefix and all bytes before
/// Numbers are in network order. A ticket has exactly one text. E0404 for a ticket that breaks a rule above.
[[nodiscard]] expected<secret_text> to_text(const join_ticket& ticket);

/// Reads such a text; white space around it, such as the end of the line, is permitted. E0404 names the mistake and its
/// place, without a part of the text. Threads: pure.
[[nodiscard]] expected<join_ticket> parse_join_ticket(std::string_view text);

}  // namespace troupe
