#include "lane_end.hpp"

#include <map>
#include <random>
#include <vector>

namespace troupe::bench {
namespace {

constexpr std::size_t cache_line_bytes = 64;

std::vector<std::byte> make_source() {
  std::vector<std::byte> made(source_bytes);
  std::minstd_rand random;
  for (std::byte& one : made) one = static_cast<std::byte>(random() >> 8u);
  return made;
}

}  // namespace

std::span<const std::byte> source() {
  static const std::vector<std::byte> bytes = make_source();
  return bytes;
}

std::uint64_t touched(std::span<const std::byte> message) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < message.size(); at += cache_line_bytes)
    sum += std::to_integer<std::uint64_t>(message[at]);
  return sum;
}

// Summing the source once per size, and not beside every message, keeps it out of the times.
void expect_source(std::uint64_t sum, std::size_t bytes) {
  thread_local std::map<std::size_t, std::uint64_t> known;
  const auto found = known.find(bytes);
  const std::uint64_t wanted =
      found != known.end() ? found->second : known.emplace(bytes, touched(source().first(bytes))).first->second;
  if (sum != wanted) throw transport_failure("a message of " + std::to_string(bytes) + " bytes arrived damaged");
}

}  // namespace troupe::bench
