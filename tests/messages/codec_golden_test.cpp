// Goal: the wire format cannot change unnoticed. Bytes written out by hand after the msgpack specification, both ways,
// and the table in docs/messages.md against its source.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

TEST(codec_golden, score_batch) {
  const score_batch sent{{{{1, 300}, 0, 2, 64, {0x3fe0000000000000u /* 0.5 */, 7}, nullptr}}};
  expect_bytes(sent,
               "93 01 19 91 91 95 92 01 cd 01 2c 00 02 40 "
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

TEST(codec_golden, long_numbers_and_stop) {
  expect_bytes(open_call{65536, 192}, "93 01 11 94 ce 00 01 00 00 cc c0 93 00 00 c0 00");
  expect_bytes(stop_request{stop_mode::abort}, "93 01 15 91 01");
}

TEST(codec_golden, every_other_message) {
  const error cause{error_code::interrupted, "a", "b", "c"};
  expect_bytes(stage_ready{{1, 2}, 3}, "93 01 10 92 92 01 02 03");
  expect_bytes(open_call{7, 8, {score_content::loss_and_outputs, 10, {}}}, "93 01 11 94 07 08 93 03 0a c0 00");
  expect_bytes(open_call{7, 8, {score_content::metrics, 10, {{"f1", "mae"}}}},
               "93 01 11 94 07 08 93 00 0a 92 a2 66 31 a3 6d 61 65 00");
  expect_bytes(release_call{8}, "93 01 12 91 08");
  expect_bytes(cancel_call{7, cause}, "93 01 13 92 07 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(stopped{{1, 2}, 3, 4, 5}, "93 01 16 94 92 01 02 03 04 05");
  expect_bytes(score_batch{{score{{0, 1}, 2, 3, 4, {5}, nullptr}}}, "93 01 19 91 91 95 92 00 01 02 03 04 91 05");
  expect_bytes(worker_hello{5, 300}, "93 01 1c 92 05 cd 01 2c");
  expect_bytes(worker_assignment{{1, 2}, 3, 4, 5, 13, 6, {0, 9}, 1, {"x"}, 1, 10, true, {{0, 2}}, {{11, "k"}}},
               "93 01 1d 9e 92 01 02 03 04 05 0d 06 92 00 09 01 91 a1 78 01 0a 01 91 92 00 02 91 92 0b a1 6b");
  expect_bytes(
      wiring_order{3, {1, 2}, {0, 4}, {{"", "", 0}, {"w", "::1", 300}}, {{7, 2, {}}, {8, 0, {9}}}},
      "93 01 1e 95 03 92 01 02 92 00 04 92 93 a0 a0 00 93 a1 77 a3 3a 3a 31 cd 01 2c 92 93 07 02 90 93 08 00 91 09");
  expect_bytes(call_opened{7}, "93 01 1f 91 07");
  expect_bytes(edge_lost{7, cause}, "93 01 20 92 07 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(edge_damaged{7, 300, cause}, "93 01 21 93 07 cd 01 2c 94 cd 02 5e a1 61 a1 62 a1 63");
}

TEST(codec_golden, messages_of_agents) {
  expect_bytes(agent_setup{"/p", "ab", "/d", {"p", "x"}, {{"A", "b"}}, 2, 1, 4, 0},
               "93 01 22 99 a2 2f 70 a2 61 62 a2 2f 64 92 a1 70 a1 78 91 92 a1 41 a1 62 02 01 04 00");
  expect_bytes(agent_ready{300}, "93 01 23 91 cd 01 2c");
  expect_bytes(agent_refusal{{error_code::interrupted, "a", "b", "c"}}, "93 01 24 91 94 cd 02 5e a1 61 a1 62 a1 63");
  expect_bytes(start_worker{1, 10000, 1}, "93 01 25 93 01 cd 27 10 01");
  expect_bytes(worker_started{1, 2}, "93 01 26 92 01 02");
  expect_bytes(worker_message{1, {std::byte{0xff}, std::byte{0}}}, "93 01 27 92 01 c4 02 ff 00");
  expect_bytes(blob_part{1, 2, 3, {std::byte{7}}}, "93 01 28 94 01 02 03 c4 01 07");
  expect_bytes(hand_over_blobs{1, "n", {{5, std::nullopt}, {0, 3u}}}, "93 01 29 93 01 a1 6e 92 92 05 c0 92 00 03");
  expect_bytes(drop_blob{5}, "93 01 2a 91 05");
  expect_bytes(kill_worker{5}, "93 01 2b 91 05");
  expect_bytes(worker_link_lost{5}, "93 01 2c 91 05");
  expect_bytes(agent_log{std::nullopt, 2, "t"}, "93 01 2d 93 c0 02 a1 74");
  expect_bytes(worker_ended{1, 2, 1, 9, 0, 5, {"l"}}, "93 01 2e 97 01 02 01 09 00 05 91 a1 6c");
  expect_bytes(worker_telemetry{1, 1, micro_batch_id{0, 7}, 8, std::nullopt, 1, 2, 3, 4, 5, 6},
               "93 01 2f 9b 01 01 92 00 07 08 c0 01 02 03 04 05 06");
  expect_bytes(stop_workers{5000}, "93 01 30 91 cd 13 88");
  expect_bytes(workers_stopped{1}, "93 01 31 91 01");
  expect_bytes(end_asked{15}, "93 01 3c 91 0f");
  expect_bytes(ask_telemetry{300}, "93 01 32 91 cd 01 2c");
  expect_bytes(telemetry_told{7}, "93 01 33 91 07");
  expect_bytes(check_file{1, {"/m", "ab", 300}}, "93 01 34 92 01 93 a2 2f 6d a2 61 62 cd 01 2c");
  expect_bytes(file_answer{1, 2, 300}, "93 01 35 93 01 02 cd 01 2c");
  expect_bytes(file_part{1, 300, {std::byte{7}, std::byte{0}}}, "93 01 36 93 01 cd 01 2c c4 02 07 00");
  expect_bytes(blob_part_taken{300}, "93 01 37 91 cd 01 2c");
  expect_bytes(read_blob{1, 2, 3, 4}, "93 01 3f 94 01 02 03 04");
  expect_bytes(blob_read{1, {std::byte{7}}}, "93 01 40 92 01 c4 01 07");
  expect_bytes(numbered_message{2, 1, {std::byte{0xff}}}, "93 01 38 93 02 01 c4 01 ff");
  expect_bytes(signal_worker{5, 19}, "93 01 39 92 05 13");
  expect_bytes(apply_fault{2, 1, 300}, "93 01 3a 93 02 01 cd 01 2c");
  expect_bytes(run_begun{300}, "93 01 3b 91 cd 01 2c");
  expect_bytes(step_vote{{1, 2}, 3, 4, 5, 7, 2.0, {0.5}, 6, std::nullopt},
               "93 01 3d 99 92 01 02 03 04 05 07 cf 40 00 00 00 00 00 00 00 91 cf 3f e0 00 00 00 00 00 00 06 c0");
  expect_bytes(step_decision{1, 2, false, 1.0, -0.0},
               "93 01 3e 95 01 02 00 cf 3f f0 00 00 00 00 00 00 cf 80 00 00 00 00 00 00 00");
}

TEST(codec_golden, longer_forms_of_a_number_are_read_too) {
  const auto decoded = codec::decode<open_call>(from_hex(
      "dd 00 00 00 03 ce 00 00 00 01 cc 11 dc 00 04 cf 00 00 00 00 00 00 00 05 09 dc 00 03 cc 02 cd 00 07 c0 cc 01"));
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(decoded->call, 5u);
  EXPECT_EQ(decoded->first, 9u);
  EXPECT_EQ(decoded->scores.content, score_content::outputs);
  EXPECT_EQ(decoded->scores.classes, 7u);
  EXPECT_TRUE(decoded->trains);
}

/// The cells of a table's row, without the spaces and backticks around them; none for any other line.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  if (!line.starts_with("|")) return cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) {
    const auto first = cell.find_first_not_of(" `");
    const auto last = cell.find_last_not_of(" `");
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

TEST(codec_golden, document_has_the_rows_of_the_protocol) {
  std::ifstream document(testing::source_dir() / "docs/messages.md");
  ASSERT_TRUE(document);
  std::vector<std::string> documented;
  for (std::string line; std::getline(document, line);) {
    // "| 25 | `score_batch` | last stage | aggregator | ..."
    const auto cells = cells_of(line);
    if (cells.size() > 4 && cells[0].find_first_not_of("0123456789") == std::string::npos && !cells[0].empty()) {
      documented.push_back(cells[0] + ' ' + cells[1] + ": " + cells[2] + " -> " + cells[3]);
    }
  }
  std::vector<std::string> known;
  for (const message_route& each : message_routes()) {
    known.push_back(std::to_string(static_cast<int>(each.kind)) + ' ' + std::string(each.name) + ": " +
                    std::string(each.from) + " -> " + std::string(each.to));
  }
  EXPECT_EQ(documented, known);
}

TEST(codec_golden, every_number_has_at_most_one_kind) {
  std::vector<message_kind> found;
  for (std::uint64_t n = 0; n <= 300; ++n) {
    if (const auto kind = kind_from(n)) found.push_back(*kind);
  }
  std::vector<message_kind> listed;
  for (const message_route& each : message_routes()) listed.push_back(each.kind);
  EXPECT_EQ(found, listed);
  EXPECT_EQ(name_of(static_cast<message_kind>(1)), "unknown");
}

}  // namespace
}  // namespace troupe
