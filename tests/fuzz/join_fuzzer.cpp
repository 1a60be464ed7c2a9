// What a peer without a certificate says, and what answers it: any bytes are a message or an error, and what was
// understood can be said again.
#include <algorithm>
#include <span>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/join/join_exchange.hpp"

namespace {

bool is_same(const troupe::expected<troupe::secret_text>& said, std::span<const std::byte> input) {
  return said && std::ranges::equal(std::as_bytes(std::span(said->view())), input);
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const bool fits = size <= troupe::limits::join_message_bytes_max;
  if (const auto asked = troupe::read_join_request(input); asked && fits)
    TROUPE_CHECK(is_same(troupe::to_bytes(*asked), input), "a request has one text");
  if (const auto answered = troupe::read_join_answer(input); answered && fits)
    TROUPE_CHECK(is_same(troupe::to_bytes(*answered), input), "an answer has one text");
  return 0;
}
