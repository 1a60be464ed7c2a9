// What stands in a join file or on an agent's standard input: any bytes are a ticket or an error with a place, and a
// ticket has one text. Few inputs have a right checksum: one that starts with '*' stands for the fields of a ticket,
// and gets the prefix and the checksum here.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/sha.h>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "runtime/join/base64url.hpp"
#include "runtime/join/join_ticket.hpp"

namespace {

constexpr std::string_view prefix = "troupe-join-2:";
constexpr std::size_t checksum_bytes = 4;

std::string with_checksum(std::string_view fields) {
  std::string hashed(prefix);
  hashed += fields;
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(hashed.data()), hashed.size(), hash.data());
  std::vector<std::uint8_t> all(fields.begin(), fields.end());
  all.insert(all.end(), hash.begin(), hash.begin() + checksum_bytes);
  return std::string(prefix) + std::string(troupe::to_base64url(all).view());
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto begin = std::min(text.find_first_not_of(space), text.size());
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  std::string input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('*')) input = with_checksum(std::string_view(input).substr(1));
  const auto ticket = troupe::parse_join_ticket(input);
  if (!ticket) {
    TROUPE_CHECK(!ticket.error().where.empty() && !ticket.error().cause.empty(), "an error has a place and a cause");
    return 0;
  }
  const auto text = troupe::to_text(*ticket);
  TROUPE_CHECK(text && text->view() == trimmed(input), "a ticket has one text");
  return 0;
}
