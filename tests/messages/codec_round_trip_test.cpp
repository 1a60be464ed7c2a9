// Goal: every message survives encode + decode to the bit. Random values of fixed seeds; msgpack's own parser as
// referee.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <msgpack.hpp>

#include "messages/limits.hpp"
#include "tests/messages/message_samples.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe {
namespace {

using testing::key;
using testing::sample_maker;

template <class T>
class codec_round_trip : public ::testing::Test {};
TYPED_TEST_SUITE(codec_round_trip, testing::all_messages);

TYPED_TEST(codec_round_trip, gives_equal_value_and_equal_bytes) {
  sample_maker make(1);
  for (int i = 0; i < 2000; ++i) {
    const auto sent = make.template make<TypeParam>();
    const auto bytes = codec::encode(sent);
    ASSERT_TRUE(bytes) << to_string(bytes.error());
    const auto received = codec::decode<TypeParam>(*bytes);
    ASSERT_TRUE(received) << to_string(received.error());
    ASSERT_TRUE(key(sent) == key(*received)) << "case " << i;
    ASSERT_EQ(*codec::encode(*received), *bytes);
  }
}

TYPED_TEST(codec_round_trip, is_one_msgpack_value_and_nothing_else) {
  sample_maker make(2);
  for (int i = 0; i < 200; ++i) {
    const auto bytes = *codec::encode(make.template make<TypeParam>());
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::size_t offset = 0;
    const auto unpacked = msgpack::unpack(text.data(), text.size(), offset);
    ASSERT_EQ(offset, text.size());
    ASSERT_EQ(unpacked.get().type, msgpack::type::ARRAY);
    ASSERT_EQ(unpacked.get().via.array.size, 3u);
    EXPECT_EQ(unpacked.get().via.array.ptr[0].as<std::uint32_t>(), limits::wire_version);
    EXPECT_EQ(unpacked.get().via.array.ptr[1].as<std::uint8_t>(), static_cast<std::uint8_t>(*codec::kind_of(bytes)));
  }
}

TEST(codec_values, referee_reads_the_fields_of_a_score) {
  score_batch batch;
  score& sent = batch.scores.emplace_back(sample_maker(3).make<score>());
  sent.words = {0, 127, 128, 255, 256, 65535, 65536, 0xffffffff, 0x100000000, ~std::uint64_t{0}};
  const auto bytes = *codec::encode(batch);
  const auto unpacked = msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto& scores = unpacked.get().via.array.ptr[2].via.array.ptr[0].via.array;
  ASSERT_EQ(scores.size, 1u);
  const auto& body = scores.ptr[0].via.array;
  ASSERT_EQ(body.size, 5u);
  EXPECT_EQ(body.ptr[0].via.array.ptr[0].as<std::uint64_t>(), sent.id.call);
  EXPECT_EQ(body.ptr[0].via.array.ptr[1].as<std::uint64_t>(), sent.id.index);
  EXPECT_EQ(body.ptr[3].as<std::uint64_t>(), sent.samples);
  EXPECT_EQ(body.ptr[4].as<std::vector<std::uint64_t>>(), sent.words);
}

TEST(codec_values, doubles_keep_every_bit) {
  using limit = std::numeric_limits<double>;
  const std::array values = {0.0,
                             -0.0,
                             limit::infinity(),
                             -limit::infinity(),
                             limit::denorm_min(),
                             -limit::denorm_min(),
                             limit::max(),
                             limit::quiet_NaN(),
                             std::bit_cast<double>(0x7ff0000000000001u),
                             std::bit_cast<double>(0xfff8dead0000beefu),
                             0.1};
  score_batch batch{{score{}}};
  score& sent = batch.scores.front();
  for (const double v : values) sent.words.push_back(std::bit_cast<std::uint64_t>(v));
  const auto received = codec::decode<score_batch>(*codec::encode(batch));
  ASSERT_TRUE(received);
  ASSERT_EQ(received->scores.size(), 1u);
  EXPECT_EQ(received->scores[0].words, sent.words);
  EXPECT_TRUE(std::signbit(std::bit_cast<double>(received->scores[0].words[1])));
}

TEST(codec_values, handles_do_not_travel) {
  struct nothing : payload {};
  score_batch sent{{score{}}};
  sent.scores[0].outputs = std::make_shared<nothing>();
  const auto received = codec::decode<score_batch>(*codec::encode(sent));
  ASSERT_TRUE(received);
  ASSERT_EQ(received->scores.size(), 1u);
  EXPECT_EQ(received->scores[0].outputs, nullptr);
  EXPECT_EQ(*codec::encode(sent), *codec::encode(score_batch{{score{}}}));
}

TEST(codec_limits, a_long_text_is_cut_between_characters) {
  edge_lost sent;
  sent.cause.cause = std::string(limits::wire_string_bytes_max - 1, 'x') + "\xc3\xa9rest";
  const auto received = codec::decode<edge_lost>(*codec::encode(sent));
  ASSERT_TRUE(received);
  EXPECT_EQ(received->cause.cause, std::string(limits::wire_string_bytes_max - 1, 'x'));
  sent.cause.cause = std::string(limits::wire_string_bytes_max, 'y');
  EXPECT_EQ(codec::decode<edge_lost>(*codec::encode(sent))->cause.cause, sent.cause.cause);
}

TEST(codec_limits, the_greatest_score_travels_and_one_more_word_does_not) {
  score_batch batch{{score{}}};
  score& sent = batch.scores.front();
  sent.words.assign(limits::score_words_max, ~std::uint64_t{0});
  const auto bytes = codec::encode(batch);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(codec::decode<score_batch>(*bytes)->scores.front().words, sent.words);
  sent.words.push_back(1);
  EXPECT_EQ(codec::encode(batch).error().code, error_code::wire_too_large);
}

TEST(codec_limits, a_batch_is_limited_in_scores_and_bytes) {
  if (testing::sanitized) GTEST_SKIP() << testing::same_code;
  score_batch sent;
  sent.scores.resize(limits::scores_per_message_max + 1);
  EXPECT_EQ(codec::encode(sent).error().code, error_code::wire_too_large);
  sent.scores.resize(8);
  for (score& s : sent.scores) s.words.assign(limits::score_words_max, ~std::uint64_t{0});
  const auto refused = codec::encode(sent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::wire_too_large);
  EXPECT_EQ(refused.error().where, "message score_batch");
}

}  // namespace
}  // namespace troupe
