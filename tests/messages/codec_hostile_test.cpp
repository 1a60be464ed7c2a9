// Goal: no bytes crash the decoder, make it allocate much, or pass for another message. Cuts, flips, random bytes,
// giants.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "tests/messages/allocation_watch.hpp"
#include "tests/messages/message_samples.hpp"

namespace troupe {
namespace {

using testing::from_hex;
using testing::key;
using testing::sample_maker;

/// More than any error's text, less than anything that a hostile length could ask for.
constexpr std::size_t small_bytes = 4096;

bool is_wire_error(const error& e) {
  const auto number = static_cast<int>(e.code);
  return number >= 701 && number <= 799 && e.where.find("byte ") != std::string::npos && !e.cause.empty();
}

/// Either a named error, or a value that is stable under a further round trip.
template <class T>
void expect_error_or_sound_value(const codec::bytes& input) {
  const auto decoded = codec::decode<T>(input);
  if (!decoded) {
    EXPECT_TRUE(is_wire_error(decoded.error())) << to_string(decoded.error());
    return;
  }
  const auto again = codec::decode<T>(*codec::encode(*decoded));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_TRUE(key(*again) == key(*decoded));
}

template <class T>
class codec_hostile : public ::testing::Test {};
TYPED_TEST_SUITE(codec_hostile, testing::all_messages);

TYPED_TEST(codec_hostile, truncated_at_every_byte) {
  sample_maker make(11);
  for (int i = 0; i < 5; ++i) {
    const auto whole = *codec::encode(make.template make<TypeParam>());
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto decoded = codec::decode<TypeParam>(std::span(whole).first(size));
      ASSERT_FALSE(decoded) << size << " of " << whole.size() << " bytes passed";
      ASSERT_EQ(decoded.error().code, error_code::wire_malformed) << to_string(decoded.error());
    }
  }
}

TYPED_TEST(codec_hostile, every_byte_changed) {
  auto bytes = *codec::encode(sample_maker(12).make<TypeParam>());
  if (bytes.size() > 600) bytes = *codec::encode(TypeParam{});
  // every other value where a message is short, every single bit where it is long
  const bool is_short = bytes.size() <= 40;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned flip = 1; flip < 256; flip = is_short ? flip + 1 : flip * 2) {
      auto changed = bytes;
      changed[at] ^= static_cast<std::byte>(flip);
      expect_error_or_sound_value<TypeParam>(changed);
    }
  }
}

TYPED_TEST(codec_hostile, bytes_left_over) {
  auto bytes = *codec::encode(sample_maker(13).make<TypeParam>());
  const auto size = bytes.size();
  bytes.push_back(std::byte{0});
  const auto decoded = codec::decode<TypeParam>(bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, error_code::wire_malformed);
  EXPECT_EQ(decoded.error().where, "wire message, byte " + std::to_string(size));
}

TYPED_TEST(codec_hostile, random_bytes_behind_a_valid_envelope) {
  const auto kind = (*codec::encode(TypeParam{}))[2];
  sample_maker make(14);
  for (int i = 0; i < 20'000; ++i) {
    codec::bytes input = {std::byte{0x93}, std::byte{1}, kind, static_cast<std::byte>(0x90u | make.below(8))};
    for (auto left = make.below(40); left > 0; --left) {
      // mostly bytes that mean something, or hardly any case gets past the second field
      input.push_back(make.below(4) == 0 ? make.byte() : static_cast<std::byte>(0x90u + make.below(24)));
    }
    expect_error_or_sound_value<TypeParam>(input);
  }
}

TEST(codec_hostile_bytes, random) {
  sample_maker make(15);
  for (int i = 0; i < 100'000; ++i) {
    codec::bytes input(make.below(64));
    for (auto& b : input) b = make.byte();
    expect_error_or_sound_value<failure>(input);
    expect_error_or_sound_value<score_batch>(input);
  }
}

struct bad_message {
  std::string hex;
  error_code code;
  std::size_t offset;
  std::string cause;
};

class codec_bad_messages : public ::testing::TestWithParam<bad_message> {};

TEST_P(codec_bad_messages, is_refused_by_name_and_offset_without_memory) {
  const auto input = from_hex(GetParam().hex);
  testing::take_allocation_counts();
  const auto decoded = codec::decode<score_batch>(input);
  const auto counts = testing::take_allocation_counts();
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, GetParam().code) << to_string(decoded.error());
  EXPECT_EQ(decoded.error().where, "wire message, byte " + std::to_string(GetParam().offset));
  EXPECT_NE(decoded.error().cause.find(GetParam().cause), std::string::npos) << to_string(decoded.error());
  EXPECT_LT(counts.total_bytes, small_bytes);
}

using enum error_code;
INSTANTIATE_TEST_SUITE_P(
    one_fault_each, codec_bad_messages,
    ::testing::Values(
        bad_message{"", wire_malformed, 0, "which has 0 bytes"},
        bad_message{"05", wire_malformed, 0, "expected an envelope, found unsigned integer"},
        bad_message{"90", wire_malformed, 1, "goes beyond the end"},
        bad_message{"93 a1 31 19 90", wire_malformed, 1, "expected the wire version, found string"},
        bad_message{"93 02 19 90", wire_wrong_version, 1, "version 2, this program speaks version 1"},
        bad_message{"91 02", wire_wrong_version, 1, "version 2"},
        bad_message{"92 01 19", wire_malformed, 0, "envelope of 2 items, expected 3"},
        bad_message{"93 01 c0 90", wire_malformed, 2, "expected the message kind, found nil"},
        bad_message{"93 01 04 90", wire_unknown_kind, 2, "unknown message kind 4"},
        bad_message{"93 01 cd 01 18 90", wire_unknown_kind, 2, "unknown message kind 280"},
        bad_message{"93 01 11 92 00 00", wire_unknown_kind, 2, "expected the message score_batch, found open_call"},
        bad_message{"93 01 19 00", wire_malformed, 3, "expected array, found unsigned integer"},
        bad_message{"93 01 19 91 91 94 92 00 00 00 00 00", wire_malformed, 5, "array of 4 fields, expected 5"},
        bad_message{"93 01 19 91 91 95 93 00 00 00 00 00 00 90", wire_malformed, 6, "array of 3 fields, expected 2"},
        bad_message{"93 01 19 91 91 95 92 00 a1 30 00 00 00 90", wire_malformed, 8,
                    "expected unsigned integer, found string"},
        bad_message{"93 01 19 91 91 95 92 00 00 cf 00 00 00 01 00 00 00 00 00 00 90", wire_malformed, 9,
                    "number 4294967296, at most 4294967295"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 ff 90", wire_malformed, 11, "byte 0xff"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 ca 00 00 00 00 90", wire_malformed, 11, "byte 0xca"},
        bad_message{"93 01 19 80", wire_malformed, 3, "byte 0x80"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 dd ff ff ff ff", wire_too_large, 12,
                    "array of 4294967295 items"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 dd 00 10 00 00", wire_malformed, 12,
                    "array of 1048576 items goes"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 dc ff ff 00", wire_malformed, 12, "array of 65535 items goes"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 db ff ff ff ff", wire_too_large, 12,
                    "string of 4294967295 bytes"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 db 00 01 00 00", wire_malformed, 12,
                    "string of 65536 bytes goes"},
        bad_message{"dd ff ff ff ff 01 19", wire_too_large, 0, "array of 4294967295 items"},
        bad_message{"93 01 19 dd ff ff ff ff", wire_too_large, 3, "array of 4294967295 items"},
        bad_message{"93 01 19 91 91 95 92 00 00 00 00 00 91 cf 00", wire_malformed, 13,
                    "unsigned integer goes beyond"}));

TEST(codec_hostile_values, enumerators_that_do_not_exist) {
  EXPECT_EQ(codec::decode<stop_request>(from_hex("93 01 15 91 02")).error().where, "wire message, byte 4");
  const auto decoded = codec::decode<cancel_call>(from_hex("93 01 13 92 00 94 cd 03 e7 a0 a0 a0"));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().cause, "error code 999 does not exist");
}

TEST(codec_hostile_values, too_many_scores) {
  constexpr std::uint32_t too_many = limits::scores_per_message_max + 1;
  codec::bytes input = from_hex("93 01 19 91 dc");
  input.push_back(std::byte{too_many >> 8u});
  input.push_back(std::byte{too_many & 0xffu});
  for (std::uint32_t i = 0; i < too_many; ++i) {
    const auto one = from_hex("95 92 00 00 00 00 00 90");
    input.insert(input.end(), one.begin(), one.end());
  }
  const auto decoded = codec::decode<score_batch>(input);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, wire_too_large);
  EXPECT_EQ(decoded.error().where, "wire message, byte 4");
}

TEST(codec_hostile_values, nesting_up_to_the_limit_and_beyond) {
  for (const std::size_t arrays : {limits::wire_depth_max, limits::wire_depth_max + 1, std::size_t{1'000'000}}) {
    // the envelope is one array itself
    codec::bytes input = from_hex("93 01 19");
    input.insert(input.end(), arrays - 1, std::byte{0x91});
    input.push_back(std::byte{0});
    testing::take_allocation_counts();
    const auto decoded = codec::decode<score_batch>(input);
    EXPECT_LT(testing::take_allocation_counts().total_bytes, small_bytes);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, arrays > limits::wire_depth_max ? wire_too_deep : wire_malformed);
    if (arrays > limits::wire_depth_max) {
      EXPECT_EQ(decoded.error().where, "wire message, byte " + std::to_string(2 + limits::wire_depth_max));
    }
  }
}

TEST(codec_hostile_values, a_message_above_the_size_limit_is_not_even_read) {
  const codec::bytes input(limits::wire_message_bytes_max + 1, std::byte{0xff});
  EXPECT_EQ(codec::decode<score_batch>(input).error().code, wire_too_large);
  EXPECT_EQ(codec::kind_of(input).error().code, wire_too_large);
}

TEST(codec_hostile_values, memory_follows_the_bytes_that_came) {
  // a million words of one byte each: the legal maximum
  codec::bytes input = from_hex("93 01 19 91 91 95 92 00 00 00 00 00 dd 00 10 00 00");
  input.insert(input.end(), limits::score_words_max, std::byte{1});
  testing::take_allocation_counts();
  ASSERT_TRUE(codec::decode<score_batch>(input));
  EXPECT_LE(testing::take_allocation_counts().largest_bytes, 8 * limits::score_words_max);
}

}  // namespace
}  // namespace troupe
