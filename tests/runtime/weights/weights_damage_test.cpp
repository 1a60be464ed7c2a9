// Goal: files that are cut off anywhere or have flipped bytes give an error or weights, and never crash.
// Method: every length of a small file of each format; random flips, whose seed is printed. Weights that were read are
// touched to its last byte.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/sanitized.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> files{"ordered.pt",    "ordered_legacy.pt", "protocol4.pt",
                                     "checkpoint.pt", "new_types.pt",      "all_types.safetensors"};

/// Reads the weights, and every byte of them.
std::string touched(const std::filesystem::path& file) {
  const auto dict = load_weights(file);
  if (!dict) return to_string(dict.error());
  std::uint64_t sum = 0;
  for (const named_tensor& each : *dict) {
    const at::Tensor plain = each.tensor.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(plain.data_ptr());
    for (std::size_t i = 0; i < plain.nbytes(); ++i) sum += bytes[i];
  }
  return "good " + std::to_string(sum);
}

class damaged : public ::testing::TestWithParam<std::string> {};

TEST_P(damaged, is_refused_where_it_is_cut_off) {
  const weights_folder folder;
  const std::string whole = bytes_of(recorded_weights(GetParam()));
  const std::size_t step = sanitized ? 37 : 1;
  for (std::size_t size = 0; size < whole.size(); size += step) {
    EXPECT_THAT(touched(folder.write("weights", whole.substr(0, size))), HasSubstr("error E02")) << size;
  }
}

TEST_P(damaged, is_refused_or_read_with_flipped_bytes) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  RecordProperty("seed", std::to_string(seed));
  const weights_folder folder;
  const std::string whole = bytes_of(recorded_weights(GetParam()));
  const int rounds = sanitized ? 200 : 3000;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = whole;
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips) {
      // The directory of a zip file and the header of the others decide most.
      const std::size_t range = random() % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 1500);
      bytes[random() % range] = static_cast<char>(random());
    }
    const std::string outcome = touched(folder.write("weights", bytes));
    refused += outcome.starts_with("error E02") ? 1 : 0;
    ASSERT_TRUE(outcome.starts_with("error E02") || outcome.starts_with("good")) << outcome;
  }
  EXPECT_GT(refused, rounds / 10);
}

INSTANTIATE_TEST_SUITE_P(all, damaged, ::testing::ValuesIn(files), [](const auto& each) {
  std::string name = each.param;
  return name.replace(name.find('.'), 1, "_");
});

/// The checksums of a zip file find most flips: here the pickle itself is changed, and they are true.
TEST(damaged_pickle, is_refused_or_read) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const weights_folder folder;
  const std::string legacy = bytes_of(recorded_weights("checkpoint_legacy.pt"));
  for (int round = 0; round < (sanitized ? 500 : 8000); ++round) {
    std::string bytes = legacy;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      const std::size_t at = random() % bytes.size();
      if (random() % 3 == 0) {
        bytes.erase(at, 1 + random() % 4);
      } else {
        bytes[at] = static_cast<char>(random());
      }
    }
    const std::string outcome = touched(folder.write("weights", bytes));
    ASSERT_TRUE(outcome.starts_with("error E02") || outcome.starts_with("good")) << outcome;
  }
}

}  // namespace
}  // namespace troupe::testing
