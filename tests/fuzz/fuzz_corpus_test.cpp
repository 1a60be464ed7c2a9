// Goal: what the fuzzers found stays found. Method: their functions over their corpora, and over every truncation and
// many a changed byte of each file.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

extern "C" int frame_fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int handshake_fuzz_target(const std::uint8_t* data, std::size_t size);

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

}  // namespace
}  // namespace troupe::testing
