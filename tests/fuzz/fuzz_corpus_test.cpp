// Goal: what the fuzzers found stays found, and their corpora get past the version and the checksum. Method: their
// functions over their corpora, and over every truncation and many a changed byte of each file; the files' first
// frames.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/edge/tcp/frame.hpp"
#include "tests/support/paths.hpp"

extern "C" int frame_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int handshake_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int join_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int hostfile_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int node_list_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int ticket_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int placement_fuzz_target(const std::uint8_t* data, std::size_t size);

namespace troupe::testing {
namespace {

using target = int (*)(const std::uint8_t*, std::size_t);

std::vector<std::uint8_t> read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void run_around(target run, const std::vector<std::uint8_t>& bytes) {
  run(bytes.data(), bytes.size());
  for (std::size_t size = 0; size < bytes.size(); ++size) run(bytes.data(), size);
  std::mt19937 random(1);
  for (int round = 0; round < 2000 && !bytes.empty(); ++round) {
    auto changed = bytes;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
    }
    run(changed.data(), changed.size());
  }
}

void run_corpus(target run, const char* name) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/fuzz/corpus" / name)) {
    SCOPED_TRACE(entry.path());
    run_around(run, read_file(entry.path()));
    ++files;
  }
  EXPECT_GT(files, 5u);
}

TEST(fuzz_corpus, frames) {
  run_corpus(frame_fuzz_target, "frame");
}

TEST(fuzz_corpus, handshakes) {
  run_corpus(handshake_fuzz_target, "handshake");
}

TEST(fuzz_corpus, joins) {
  run_corpus(join_fuzz_target, "join");
}

TEST(fuzz_corpus, hostfiles) {
  run_corpus(hostfile_fuzz_target, "hostfile");
}

TEST(fuzz_corpus, node_lists) {
  run_corpus(node_list_fuzz_target, "node_list");
}

TEST(fuzz_corpus, tickets) {
  run_corpus(ticket_fuzz_target, "ticket");
}

TEST(fuzz_corpus, placements) {
  run_corpus(placement_fuzz_target, "placement");
}

/// `skipped` bytes stand before the first frame.
bool opens_with_a_frame(const std::vector<std::uint8_t>& bytes, std::size_t skipped) {
  const auto input = std::as_bytes(std::span(bytes)).subspan(skipped);
  if (input.size() < frame_prelude_bytes) return false;
  const auto prelude = decode_prelude(input);
  if (!prelude || input.size() < frame_prelude_bytes + prelude->header_bytes) return false;
  return head_checksum(input.first(frame_prelude_bytes + prelude->header_bytes)) == prelude->crc;
}

TEST(fuzz_corpus, opens_with_frames_of_this_version) {
  const std::set<std::string> others{"http", "old_version", "tls"};
  const std::set<std::string> of_frames{"frame", "handshake"};
  const auto corpus = source_dir() / "tests/fuzz/corpus";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (!entry.is_regular_file() || !of_frames.contains(entry.path().parent_path().filename())) continue;
    const std::size_t skipped = entry.path().parent_path().filename() == "frame" ? 1 : 0;
    EXPECT_EQ(opens_with_a_frame(read_file(entry.path()), skipped), !others.contains(entry.path().filename()))
        << entry.path();
  }
}

}  // namespace
}  // namespace troupe::testing
