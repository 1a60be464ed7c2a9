// Untrusted bytes: for each nonce only the one right hello is let in, whatever else is there.
#include <algorithm>
#include <cstring>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"
#include "runtime/edge/tcp/handshake.hpp"

namespace {

const troupe::edge_key wanted{{0x0123456789abcdef, 0xfedcba9876543210}, 3, 2, 1};
constexpr std::uint32_t slots = 4;

void check(const troupe::frame& first) {
  const auto hello = troupe::as_hello(first);
  if (!hello) return;
  const bool is_let_in = troupe::check_hello(*hello, wanted, slots).has_value();
  TROUPE_CHECK(is_let_in == (*hello == troupe::make_hello({wanted, slots, hello->nonce, {}})),
               "only the right hello is let in");
}

void check_unsealed(std::span<const std::byte> input) {
  if (input.size() < troupe::frame_prelude_bytes) return;
  auto prelude = troupe::decode_prelude(input, 0);
  if (!prelude || input.size() < troupe::frame_prelude_bytes + prelude->header_bytes) return;
  const auto head = input.first(troupe::frame_prelude_bytes + prelude->header_bytes);
  prelude->crc = troupe::head_checksum(head);
  if (const auto first = troupe::decode_head(head, *prelude)) check(*first);
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  check_unsealed(input);
  troupe::frame_decoder decoder(0);
  const std::size_t taken = std::min(size, decoder.room().size());
  if (taken > 0) std::memcpy(decoder.room().data(), data, taken);
  decoder.arrived(taken);
  const auto step = decoder.step();
  if (step && *step == troupe::decode_step::head) {
    TROUPE_CHECK(decoder.payload_bytes() == 0, "a untrusted_peer brings no payload");
    check(decoder.head());
  }
  return 0;
}
