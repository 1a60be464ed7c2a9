#include "runtime/join/join_ticket.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/join/base64url.hpp"
#include "runtime/join/node_name.hpp"
#include "runtime/join/ticket_bytes.hpp"

namespace troupe {
namespace {

constexpr std::string_view family = "troupe-join-";
constexpr std::string_view prefix = "troupe-join-2:";
static_assert(prefix.size() + (ticket_bytes_max * 8 + 5) / 6 + 2 <= limits::join_ticket_bytes_max,
              "the longest ticket and the end of its line must be readable");
static_assert(limits::join_name_bytes_max <= 255 && limits::join_addresses_max <= 255, "sizes are bytes");
/// The last second of the year 9999.
constexpr std::int64_t expiry_max = 253'402'300'799;

tl::unexpected<error> unusable_ticket(std::string cause) {
  return fail(error_code::config_bad_value, "join ticket", std::move(cause),
              "Give the line of the ticket whole and unchanged, or ask the driver for another one");
}

/// The problem with a ticket; empty if there is none.
std::string objection_to(const join_ticket& ticket) {
  const auto& [addresses, port, authority] = ticket.target;
  if (!is_node_name(ticket.node)) return "the name of its node is none";
  if (addresses.empty() || addresses.size() > limits::join_addresses_max)
    return "it has " + std::to_string(addresses.size()) + " addresses instead of 1 to " +
           std::to_string(limits::join_addresses_max);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!is_node_name(addresses[i])) return "its address " + std::to_string(i + 1) + " is none";
  }
  if (port == 0) return "its port is 0";
  if (ticket.expires_unix_seconds < 1 || ticket.expires_unix_seconds > expiry_max)
    return "its expiry is not between the years 1970 and 9999";
  if (ticket.issued_unix_seconds < 0 || ticket.issued_unix_seconds >= ticket.expires_unix_seconds ||
      ticket.lifetime() > limits::credentials_valid_after)
    return "the time when it was made does not fit its expiry";
  return {};
}

using checksum_t = std::array<std::uint8_t, ticket_checksum_bytes>;

/// A prefix of another version gives another checksum.
std::optional<checksum_t> checksum_of(std::span<const std::uint8_t> content) {
  secret_text all(prefix.size() + content.size());
  TROUPE_CHECK(all.append(prefix), "the capacity is that of both");
  TROUPE_CHECK(all.append({reinterpret_cast<const char*>(content.data()), content.size()}), "as above");
  std::array<std::uint8_t, 32> digest{};
  const int done = EVP_Digest(all.view().data(), all.view().size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  ERR_clear_error();
  if (done != 1) return std::nullopt;
  checksum_t first{};
  std::copy_n(digest.begin(), first.size(), first.begin());
  return first;
}

expected<join_ticket> read_content(std::span<const std::uint8_t> content) {
  ticket_reader reader(content);
  join_target target;
  target.authority = reader.array<32>();
  const auto secret = reader.bytes(join_secret::size);
  if (reader.is_short()) return unusable_ticket("it is cut short");
  join_ticket ticket{std::move(target), {}, join_secret(secret.first<join_secret::size>()), 0, 0};
  // The checks below refuse a number that the sign turns negative.
  ticket.issued_unix_seconds = static_cast<std::int64_t>(reader.number(8));
  ticket.expires_unix_seconds = static_cast<std::int64_t>(reader.number(8));
  ticket.target.port = static_cast<std::uint16_t>(reader.number(2));
  ticket.node = reader.name();
  const std::uint64_t count = reader.number(1);
  if (count > limits::join_addresses_max) return unusable_ticket("it has too many addresses");
  for (std::uint64_t i = 0; i < count; ++i) ticket.target.addresses.push_back(reader.name());
  if (reader.is_short()) return unusable_ticket("it is cut short");
  if (!reader.is_at_end()) return unusable_ticket("it goes on after its last address");
  if (std::string why = objection_to(ticket); !why.empty()) return unusable_ticket(std::move(why));
  return ticket;
}

}  // namespace

expected<secret_text> to_text(const join_ticket& ticket) {
  if (std::string why = objection_to(ticket); !why.empty()) return unusable_ticket(std::move(why));
  ticket_writer binary;
  binary.bytes(ticket.target.authority);
  binary.bytes(ticket.secret.bytes());
  binary.number(static_cast<std::uint64_t>(ticket.issued_unix_seconds), 8);
  binary.number(static_cast<std::uint64_t>(ticket.expires_unix_seconds), 8);
  binary.number(ticket.target.port, 2);
  binary.name(ticket.node);
  binary.number(ticket.target.addresses.size(), 1);
  for (const std::string& address : ticket.target.addresses) binary.name(address);
  const auto checksum = checksum_of(binary.content().bytes());
  if (!checksum) return unusable_ticket("OpenSSL computes no SHA-256");
  binary.bytes(*checksum);
  const secret_text encoded = to_base64url(binary.content().bytes());
  secret_text text(prefix.size() + encoded.view().size());
  TROUPE_CHECK(text.append(prefix) && text.append(encoded.view()), "the capacity is that of both");
  return text;
}

expected<join_ticket> parse_join_ticket(std::string_view text) {
  if (text.size() > limits::join_ticket_bytes_max)
    return unusable_ticket("it has " + std::to_string(text.size()) + " bytes, " +
                           std::to_string(limits::join_ticket_bytes_max) + " are permitted");
  constexpr std::string_view white_space = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(white_space), text.size()));
  text = text.substr(0, text.find_last_not_of(white_space) + 1);
  if (text.empty()) return unusable_ticket("it is empty");
  if (!text.starts_with(family)) return unusable_ticket("it does not begin with " + std::string(family));
  if (!text.starts_with(prefix)) return unusable_ticket("its version is not 2, which this program reads");
  const auto [decoded, wrong_at] = from_base64url(text.substr(prefix.size()));
  if (wrong_at) {
    return unusable_ticket("its character " + std::to_string(prefix.size() + *wrong_at + 1) + " does not belong there");
  }
  const auto binary = decoded.bytes();
  if (binary.size() < ticket_checksum_bytes) return unusable_ticket("it is cut short");
  const auto content = binary.first(binary.size() - ticket_checksum_bytes);
  const auto checksum = checksum_of(content);
  if (!checksum || !std::ranges::equal(*checksum, binary.last(ticket_checksum_bytes)))
    return unusable_ticket("it was changed or is cut short: its checksum does not match");
  return read_content(content);
}

}  // namespace troupe
