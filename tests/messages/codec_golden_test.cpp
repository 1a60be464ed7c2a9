// Goal: the wire format cannot change unnoticed. Bytes written out by hand after the msgpack specification, both ways,
// and the kinds against the table in docs/messages.md.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/messages/message_samples.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using testing::from_hex;
using testing::key;

template <class T>
void expect_bytes(const T& message, const std::string& hex) {
  const auto golden = from_hex(hex);
  EXPECT_EQ(*codec::encode(message), golden);
  const auto decoded = codec::decode<T>(golden);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_TRUE(key(*decoded) == key(message));
}

TEST(codec_golden, score) {
  const score sent{{1, 300}, 0, 2, 64, {0x3fe0000000000000u /* 0.5 */, 7}, nullptr};
  expect_bytes(sent,
               "93 01 18 95 92 01 cd 01 2c 00 02 40 "
               "92 cf 3f e0 00 00 00 00 00 00 07");
}

TEST(codec_golden, failure) {
  const failure sent{{1, 0}, 3, "stage 1", micro_batch_id{0, 17}, {error_code::forward_failed, "w", "c", ""}, 2};
  expect_bytes(sent,
               "93 01 1a 96 92 01 00 03 a7 73 74 61 67 65 20 31 92 00 11 "
               "94 cd 02 5a a1 77 a1 63 a0 02");
}

TEST(codec_golden, failure_of_a_whole_stage) {
  const failure sent{{0, 200}, 0, "", std::nullopt, {error_code::internal, "", "", ""}, 0};
  expect_bytes(sent, "93 01 1a 96 92 00 cc c8 00 a0 c0 94 cd 02 59 a0 a0 a0 00");
}

TEST(codec_golden, activation_and_stop) {
  expect_bytes(activation{{0, 65536}, {128, 192}, 1, nullptr, nullptr},
               "93 01 01 93 92 00 ce 00 01 00 00 92 cc 80 cc c0 01");
  expect_bytes(stop_request{stop_mode::abort}, "93 01 15 91 01");
}

TEST(codec_golden, every_other_message) {
  const error cause{error_code::interrupted, "a", "b", "c"};
  expect_bytes(credit{3, 4}, "93 01 02 92 03 04");
  expect_bytes(end_of_call{5, 157}, "93 01 03 92 05 cc 9d");
  expect_bytes(stage_ready{{1, 2}, 3}, "93 01 10 92 92 01 02 03");
  expect_bytes(begin_call{7, 8}, "93 01 11 92 07 08");
  expect_bytes(end_call{8}, "93 01 12 91 08");
  expect_bytes(cancel_call{7, cause}, "93 01 13 92 07 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(low_water{{1, 2}}, "93 01 14 91 92 01 02");
  expect_bytes(stopped{{1, 2}, 3, 4, 5}, "93 01 16 94 92 01 02 03 04 05");
  expect_bytes(call_progress{1, 2, 3}, "93 01 17 93 01 02 03");
  expect_bytes(score_batch{{score{{0, 1}, 2, 3, 4, {5}, nullptr}}}, "93 01 19 91 91 95 92 00 01 02 03 04 91 05");
  expect_bytes(worker_hello{5, 300}, "93 01 1c 92 05 cd 01 2c");
  expect_bytes(worker_assignment{{1, 2}, 3, 4, 5, 13, 6, 7, {0, 9}, 10, {11, 12}},
               "93 01 1d 9a 92 01 02 03 04 05 0d 06 07 92 00 09 0a 92 0b 0c");
  expect_bytes(wiring_order{3, {1, 2}, {0, 4}, {0, 300}}, "93 01 1e 94 03 92 01 02 92 00 04 92 00 cd 01 2c");
  expect_bytes(call_opened{7}, "93 01 1f 91 07");
  expect_bytes(edge_lost{7, cause}, "93 01 20 92 07 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(edge_damaged{7, 300, cause}, "93 01 21 93 07 cd 01 2c 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(cause, "93 01 1b 94 cd 02 5e a1 61 a1 62 a1 63");
}

TEST(codec_golden, longer_forms_of_a_number_are_read_too) {
  const auto decoded =
      codec::decode<credit>(from_hex("dd 00 00 00 03 ce 00 00 00 01 cc 02 dc 00 02 cf 00 00 00 00 00 00 00 05 09"));
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(decoded->slots, 5u);
  EXPECT_EQ(decoded->sender_incarnation, 9u);
}

TEST(codec_golden, document_lists_exactly_these_kinds) {
  std::ifstream document(testing::source_dir() / "docs/messages.md");
  ASSERT_TRUE(document);
  std::map<std::uint64_t, std::string> documented;
  std::map<std::uint64_t, std::string> known;
  for (std::string line; std::getline(document, line);) {
    // "| 24 | `score` | ..."
    std::istringstream words(line);
    std::string bar;
    std::string name;
    std::uint64_t number = 0;
    if (words >> bar >> number >> bar >> name && name.starts_with('`'))
      documented[number] = name.substr(1, name.size() - 2);
  }
  for (std::uint64_t n = 0; n <= 300; ++n) {
    if (const auto kind = kind_from(n)) known[n] = name_of(*kind);
  }
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace troupe
