// Any bytes, in any pieces, are frames or an error: nothing is read or written beside its place, and what was
// understood can be said again. The first byte is the size of the pieces.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"

namespace {

constexpr std::uint64_t payload_max = 1 << 16;

void check_again(const troupe::frame& value, std::uint64_t payload_bytes) {
  const auto bytes = troupe::encode_head(value);
  const auto prelude = troupe::decode_prelude(bytes.view());
  TROUPE_CHECK(prelude && prelude->payload_bytes == payload_bytes, "what was understood can be said again");
  const auto again = troupe::decode_head(bytes.view(), *prelude);
  TROUPE_CHECK(again && *again == value, "what was understood can be said again");
}

void feed(std::span<const std::byte> input, std::size_t piece) {
  troupe::frame_decoder decoder(payload_max);
  std::vector<std::byte> payload;
  for (;;) {
    const auto step = decoder.step();
    if (!step) return;
    if (*step == troupe::decode_step::head) {
      check_again(decoder.head(), decoder.payload_bytes());
      TROUPE_CHECK(decoder.payload_bytes() <= payload_max, "the limit holds");
      payload.resize(decoder.payload_bytes());
      if (!payload.empty()) decoder.payload_into(payload);
    } else if (*step == troupe::decode_step::more) {
      const auto room = decoder.room();
      TROUPE_CHECK(!room.empty(), "more needs room");
      const std::size_t size = std::min({piece, room.size(), input.size()});
      if (size == 0) return;
      std::memcpy(room.data(), input.data(), size);
      decoder.arrived(size);
      input = input.subspan(size);
    }
  }
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  feed(input, data[0] == 0 ? 8192 : data[0]);
  // Behind the checksum, which random bytes hardly get past: the header alone, taken as if it were right.
  std::vector<std::byte> head(input.begin(), input.end());
  if (head.size() < troupe::frame_prelude_bytes) return 0;
  const auto prelude = troupe::decode_prelude(head);
  if (prelude && head.size() >= troupe::frame_prelude_bytes + prelude->header_bytes) {
    head.resize(troupe::frame_prelude_bytes + prelude->header_bytes);
    auto right = *prelude;
    right.crc = troupe::head_checksum(head);
    const auto value = troupe::decode_head(head, right);
    if (value) check_again(*value, right.payload_bytes);
  }
  return 0;
}
