#pragma once

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <tuple>

#include "messages/limits.hpp"
#include "runtime/join/join_ticket.hpp"

namespace troupe::testing {

inline join_ticket sample_ticket() {
  join_target target{{"driver.example", "192.0.2.1"}, 7000};
  target.authority.fill(0xa5);
  std::array<std::uint8_t, join_secret::size> secret{};
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
  return {target, "gpu-3", join_secret(secret), 1'799'999'940, 1'800'000'000};
}

/// Everything that a ticket has, to be compared.
inline auto parts_of(const join_ticket& ticket) {
  const auto secret = ticket.secret.bytes();
  return std::tuple(ticket.target.addresses, ticket.target.port, ticket.target.authority, ticket.node,
                    std::string(secret.begin(), secret.end()), ticket.issued_unix_seconds, ticket.expires_unix_seconds);
}

inline std::string text_of(const join_ticket& ticket) {
  return std::string(to_text(ticket)->view());
}

inline std::string random_name(std::mt19937_64& random) {
  constexpr std::string_view letters = "abcXYZ0189_:.-";
  std::string name(1 + random() % limits::join_name_bytes_max, 'n');
  for (std::size_t i = 1; i < name.size(); ++i) name[i] = letters[random() % letters.size()];
  return name;
}

inline join_ticket random_ticket(std::mt19937_64& random) {
  join_ticket ticket = sample_ticket();
  ticket.target.addresses.resize(1 + random() % limits::join_addresses_max);
  for (std::string& address : ticket.target.addresses) address = random_name(random);
  ticket.target.port = static_cast<std::uint16_t>(1 + random() % 65535);
  for (std::uint8_t& byte : ticket.target.authority) byte = static_cast<std::uint8_t>(random());
  ticket.node = random_name(random);
  ticket.secret = *join_secret::make();
  ticket.expires_unix_seconds = static_cast<std::int64_t>(1 + random() % 253'402'300'799);
  const std::chrono::seconds longest = std::min<std::chrono::seconds>(
      limits::credentials_valid_after, std::chrono::seconds(ticket.expires_unix_seconds));
  const auto lifetime = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(longest.count()));
  ticket.issued_unix_seconds = ticket.expires_unix_seconds - lifetime;
  return ticket;
}

}  // namespace troupe::testing
