// Goal: frames arrive as they left, and hostile bytes are refused before they cost anything. Method: round trips,
// bytes written down by hand, every truncation, every flipped bit, lengths beyond all limits.
#include <cstring>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/try.hpp"
#include "runtime/edge/tcp/frame_decoder.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe::testing {
namespace {

using bytes = std::vector<std::byte>;

activation_frame whole() {
  return {{1, 300}, {3000, 3064}, 7, std::nullopt, 100, 20, true};
}

std::vector<frame> all_frames() {
  activation_frame empty_part{{0, 0}, {0, 0}, 0, 0, std::nullopt, std::nullopt, false};
  activation_frame extreme{{UINT64_MAX - 1, UINT64_MAX}, {UINT64_MAX - 5, UINT64_MAX}, UINT32_MAX, 5, 0, 0, true};
  return {whole(),
          empty_part,
          extreme,
          credit_frame{0},
          credit_frame{UINT64_MAX},
          flush_frame{UINT64_MAX - 1},
          close_frame{128},
          hello_frame{{{}, 70'000, 2, 3}, 256, {1, UINT64_MAX}, {1, 2, 3, UINT64_MAX}},
          challenge_frame{{0, UINT64_MAX}, {4, 3, 2, 1}},
          proof_frame{{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}},
          welcome_frame{1},
          control_frame{0},
          control_frame{limits::wire_message_bytes_max},
          link_frame{},
          link_frame{UINT32_MAX},
          join_frame{0},
          join_frame{limits::join_message_bytes_max},
          ping_frame{}};
}

bytes encoded(const frame& value) {
  const auto head = encode_head(value);
  return {head.view().begin(), head.view().end()};
}

expected<frame> decoded(std::span<const std::byte> input) {
  const auto prelude = TROUPE_TRY(decode_prelude(input));
  return decode_head(input, prelude);
}

/// Makes the checksum right again, as an attacker would.
void reseal(bytes& head) {
  const std::span all(head);
  const std::uint32_t crc = crc32c(all.subspan(frame_prelude_bytes), crc32c(all.first(16)));
  for (std::size_t i = 0; i < 4; ++i) head[16 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
}

bytes from_hex(const char* hex) {
  bytes out;
  for (; *hex != 0; hex += *hex == ' ' ? 1 : 2) {
    if (*hex != ' ') out.push_back(static_cast<std::byte>(std::stoi(std::string(hex, 2), nullptr, 16)));
  }
  return out;
}

TEST(frame, arrives_as_it_left) {
  for (const frame& value : all_frames()) {
    const auto got = decoded(encoded(value));
    ASSERT_TRUE(got) << to_string(got.error());
    EXPECT_EQ(*got, value);
    EXPECT_EQ(kind_of(*got), kind_of(value));
  }
}

TEST(frame, has_the_bytes_that_are_documented) {
  EXPECT_EQ(encoded(credit_frame{300}), from_hex("54525045 0004 0005 0000000000000000 d3da7843 92 02 cd012c"));
  EXPECT_EQ(encoded(link_frame{}), from_hex("54525045 0004 0003 0000000000000000 bcac7adc 92 0f c0"));
  EXPECT_EQ(encoded(link_frame{10'000}), from_hex("54525045 0004 0005 0000000000000000 e81db4bf 92 0f cd2710"));
  EXPECT_EQ(encoded(join_frame{512}), from_hex("54525045 0004 0005 0000000000000200 0cc65af8 92 10 cd0200"));
  EXPECT_EQ(encoded(ping_frame{}), from_hex("54525045 0004 0002 0000000000000000 b8b345da 91 0b"));
  EXPECT_EQ(encoded(whole()), from_hex("54525045 0004 0011 00000000000000c4 1e830cda 9a 01 01 cd012c cd0bb8 cd0bf8 07 "
                                       "c0 64 14 01"));
}

TEST(frame, lays_its_payload_out_at_multiples_of_64) {
  activation_frame head = whole();
  head.rows = 3;
  const payload_layout layout = layout_of(head);
  EXPECT_EQ(layout.labels_at, 128u);
  EXPECT_EQ(layout.rows_at, 192u);
  EXPECT_EQ(layout.checksum_at, 204u);
  EXPECT_EQ(layout.bytes, 208u);
  head.has_checksum = false;
  EXPECT_EQ(layout_of(head).bytes, 204u);
}

TEST(frame, refuses_every_flipped_bit) {
  for (const frame& value : all_frames()) {
    const bytes right = encoded(value);
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
      bytes wrong = right;
      wrong[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      frame_decoder decoder(limits::frame_payload_bytes_max);
      std::memcpy(decoder.room().data(), wrong.data(), wrong.size());
      decoder.arrived(wrong.size());
      const auto step = decoder.step();
      // A header that seems longer is waited for, and then fails its checksum.
      EXPECT_TRUE(!step || *step == decode_step::more) << "bit " << bit;
      EXPECT_TRUE(!step || bit / 8 == 6 || bit / 8 == 7) << "bit " << bit;
    }
  }
}

// The checksum keeps out accidents alone: behind it everything is checked again.
TEST(frame, refuses_or_understands_every_flipped_bit_under_a_right_checksum) {
  for (const frame& value : all_frames()) {
    const bytes right = encoded(value);
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
      bytes wrong = right;
      wrong[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      reseal(wrong);
      const auto got = decoded(wrong);
      if (got) {
        EXPECT_LE(encode_head(*got).view().size(), wrong.size());
      } else {
        EXPECT_THAT(got.error().where, ::testing::HasSubstr("byte "));
      }
    }
  }
}

TEST(frame, refuses_every_truncation) {
  for (const frame& value : all_frames()) {
    const bytes right = encoded(value);
    for (std::size_t size = frame_prelude_bytes; size < right.size(); ++size) {
      bytes cut(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size));
      cut[7] = static_cast<std::byte>(size - frame_prelude_bytes);
      EXPECT_EQ(decoded(cut).error().code, error_code::wire_checksum);
      reseal(cut);
      EXPECT_EQ(decoded(cut).error().code, error_code::wire_malformed);
    }
  }
}

TEST(frame, names_the_code_and_the_byte_of_what_is_wrong) {
  const auto expect = [](bytes head, error_code code, const char* place) {
    reseal(head);
    const auto got = decoded(head);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, code) << to_string(got.error());
    EXPECT_THAT(got.error().where, ::testing::EndsWith(place));
  };
  expect(from_hex("47455420 0001 0002 0000000000000000 00000000 91 0b"), error_code::wire_malformed, "byte 0");
  expect(from_hex("54525045 0003 0002 0000000000000000 00000000 91 0b"), error_code::wire_wrong_version, "byte 4");
  expect(from_hex("54525045 0005 0002 0000000000000000 00000000 91 0b"), error_code::wire_wrong_version, "byte 4");
  expect(from_hex("54525045 0004 0081 0000000000000000 00000000 91 0b"), error_code::wire_too_large, "byte 6");
  expect(from_hex("54525045 0004 0002 8000000000000000 00000000 91 0b"), error_code::wire_too_large, "byte 8");
  expect(from_hex("54525045 0004 0002 0000000000000001 00000000 91 0b"), error_code::wire_malformed, "byte 8");
  expect(from_hex("54525045 0004 0002 0000000000000000 00000000 91 11"), error_code::wire_unknown_kind, "byte 21");
  expect(from_hex("54525045 0004 0003 0000000000000000 00000000 92 0b 00"), error_code::wire_malformed, "byte 20");
  expect(from_hex("54525045 0004 0003 0000000000000000 00000000 91 0b 00"), error_code::wire_malformed, "byte 22");
  expect(from_hex("54525045 0004 0003 0000000000000000 00000000 92 02 c3"), error_code::wire_malformed, "byte 22");
  expect(from_hex("54525045 0004 0005 0000000000000000 00000000 92 0a cd0101"), error_code::wire_too_large, "byte 22");
  expect(from_hex("54525045 0004 0003 0000000000000000 00000000 92 0f 00"), error_code::wire_malformed, "byte 22");
  expect(from_hex("54525045 0004 0005 0000000000000c01 00000000 92 10 cd0c01"), error_code::wire_too_large, "byte 22");
  expect(from_hex("54525045 0004 0006 0000000000000000 00000000 dd7fffffff 0b"), error_code::wire_too_large, "byte 20");
}

TEST(frame_decoder, refuses_lengths_beyond_all_limits_at_once) {
  for (const unsigned shift : {33u, 40u, 62u, 63u}) {
    activation_frame head = whole();
    bytes huge = encoded(head);
    const std::uint64_t claimed = std::uint64_t{1} << shift;
    for (std::size_t i = 0; i < 8; ++i) huge[8 + i] = static_cast<std::byte>(claimed >> (56 - 8 * i));
    reseal(huge);
    frame_decoder decoder(limits::frame_payload_bytes_max);
    std::memcpy(decoder.room().data(), huge.data(), huge.size());
    decoder.arrived(huge.size());
    EXPECT_EQ(decoder.step().error().code, error_code::wire_too_large);
  }
}

/// The checksum of a payload, at its end.
void seal(bytes& payload) {
  const std::span all(payload);
  write_checksum(crc32c(all.first(all.size() - payload_checksum_bytes)), all.last<payload_checksum_bytes>());
}

/// What ends a stream of one frame, in pieces of `piece` bytes: its payload, or an error.
expected<decode_step> end_of(const bytes& stream, std::size_t piece) {
  frame_decoder decoder(1 << 20);
  bytes payload;
  for (std::size_t at = 0;;) {
    const auto step = decoder.step();
    if (!step || *step == decode_step::payload) return step;
    if (*step == decode_step::head) {
      payload.resize(decoder.payload_bytes());
      decoder.payload_into(payload);
    } else {
      const std::size_t size = std::min({piece, decoder.room().size(), stream.size() - at});
      std::memcpy(decoder.room().data(), stream.data() + at, size);
      decoder.arrived(size);
      at += size;
    }
  }
}

TEST(frame_decoder, finds_every_flipped_bit_of_a_payload_with_a_checksum) {
  const bytes head = encoded(whole());
  bytes payload(layout_of(whole()).bytes, std::byte{0x5a});
  seal(payload);
  for (const std::size_t piece : {1u, 100u, 4096u}) {
    bytes stream = head;
    stream.insert(stream.end(), payload.begin(), payload.end());
    EXPECT_TRUE(end_of(stream, piece));
    for (std::size_t bit = head.size() * 8; bit < stream.size() * 8; ++bit) {
      bytes wrong = stream;
      wrong[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      const auto got = end_of(wrong, piece);
      ASSERT_FALSE(got) << "bit " << bit;
      EXPECT_EQ(got.error().code, error_code::wire_checksum);
      EXPECT_EQ(got.error().where, to_string(whole().id));
    }
  }
}

/// Feeds `stream` in pieces of at most `piece` bytes and returns the frames with their payloads.
std::vector<std::pair<frame, bytes>> read_all(const bytes& stream, std::size_t piece) {
  std::vector<std::pair<frame, bytes>> got;
  frame_decoder decoder(1 << 20);
  for (std::size_t at = 0;;) {
    const auto step = decoder.step();
    EXPECT_TRUE(step);
    if (!step) return got;
    if (*step == decode_step::head) {
      got.emplace_back(decoder.head(), bytes(decoder.payload_bytes()));
      if (decoder.payload_bytes() > 0) decoder.payload_into(got.back().second);
    } else if (*step == decode_step::more) {
      if (at == stream.size()) return got;
      const auto room = decoder.room();
      EXPECT_FALSE(room.empty());
      const std::size_t size = std::min({piece, room.size(), stream.size() - at});
      std::memcpy(room.data(), stream.data() + at, size);
      decoder.arrived(size);
      at += size;
    }
  }
}

TEST(frame_decoder, takes_a_stream_in_pieces_of_any_size) {
  bytes stream;
  std::vector<std::pair<frame, bytes>> given;
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    for (frame& value : all_frames()) {
      if (auto* sent = std::get_if<activation_frame>(&value)) sent->tensor_bytes = random() % 9000;
      if (auto* told = std::get_if<control_frame>(&value)) told->bytes = random() % 9000;
      if (auto* asked = std::get_if<join_frame>(&value)) asked->bytes = random() % 3000;
      const auto* sent = std::get_if<activation_frame>(&value);
      const auto* told = std::get_if<control_frame>(&value);
      const auto* asked = std::get_if<join_frame>(&value);
      bytes payload(sent != nullptr    ? layout_of(*sent).bytes
                    : told != nullptr  ? told->bytes
                    : asked != nullptr ? asked->bytes
                                       : 0);
      for (std::byte& b : payload) b = static_cast<std::byte>(random());
      if (sent != nullptr && sent->has_checksum) seal(payload);
      const bytes head = encoded(value);
      stream.insert(stream.end(), head.begin(), head.end());
      stream.insert(stream.end(), payload.begin(), payload.end());
      given.emplace_back(value, std::move(payload));
    }
  }
  for (const std::size_t piece : {1u, 2u, 3u, 19u, 64u, 4095u, 4096u, 4097u, 100'000u}) {
    EXPECT_EQ(read_all(stream, piece), given) << "pieces of " << piece;
  }
}

}  // namespace
}  // namespace troupe::testing
