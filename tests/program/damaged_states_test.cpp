// Goal: the file of a checkpoint with the states beside the layers (mp_rank_00_model_states.pt) gives an error or data
// wherever it is damaged; it never crashes the reader, makes it call anything, or takes more memory than twice the file
// and 64 MiB. Method: the file that PyTorch wrote, cut off at many lengths, and a pickle with changed bytes; files with
// one thing that is a lie, each with the error that it must give.
#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <malloc.h>
#include <unistd.h>

#include "runtime/checkpoint/load_files.hpp"
#include "tests/runtime/weights/pickle_parts.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/peak_memory.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using namespace parts;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class damaged_states : public ::testing::Test {
 protected:
  damaged_states() {
    std::string scratch = (fs::temp_directory_path() / "test-states-XXXXXX").string();
    from_.folder = ::mkdtemp(scratch.data());
  }
  ~damaged_states() override { fs::remove_all(from_.folder); }
  damaged_states(const damaged_states&) = delete;
  damaged_states& operator=(const damaged_states&) = delete;

  [[nodiscard]] expected<loaded_checkpoint> load(const std::string& bytes) const {
    std::ofstream(from_.folder / states_name, std::ios::binary) << bytes;
    return load_states(from_);
  }
  [[nodiscard]] std::string outcome(const std::string& bytes) const {
    const auto loaded = load(bytes);
    return loaded ? "good" : to_string(loaded.error());
  }
  /// Of a dict with one member, "a".
  [[nodiscard]] std::string outcome_of(const std::string& value) const {
    return outcome(zip_file(zip_items(pickle(dict({{"a", value}})))));
  }

  tag_folder from_;
};

std::string recorded() {
  std::ifstream file(source_dir() / "tests/program/recorded_checkpoint/checkpoint/step2" / states_name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(damaged_states, that_are_cut_off_are_refused) {
  const std::string whole = recorded();
  ASSERT_EQ(outcome(whole), "good");
  for (std::size_t size = 0; size < whole.size(); size += sanitized ? 37 : 5) {
    ASSERT_THAT(outcome(whole.substr(0, size)), StartsWith("error E02")) << size;
  }
}

TEST_F(damaged_states, with_changed_bytes_are_refused_or_read) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string value = dict({{"a", tensor()}, {"b", call(global("argparse", "Namespace"), {})}});
  const std::string good =
      pickle(dict({{"global_steps", whole(3)}, {"state", value}, {"list", "](" + whole(2) + "Ne"}}));
  int refused = 0;
  const int rounds = sanitized ? 300 : 1000;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;  // the checksums around it are true
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const std::string found = outcome(zip_file(zip_items(bytes)));
    ASSERT_TRUE(found == "good" || found.starts_with("error E02")) << found;
    refused += found == "good" ? 0 : 1;
  }
  EXPECT_GT(refused, rounds / 10);
}

TEST_F(damaged_states, say_what_is_wrong) {
  EXPECT_THAT(outcome(""), HasSubstr("E0203"));
  EXPECT_THAT(outcome(zip_file(zip_items(pickle("]")))), HasSubstr("E0207"));
  EXPECT_THAT(outcome(zip_file(zip_items(pickle("]")))), HasSubstr("it holds a list in place of a dict"));
  EXPECT_THAT(outcome(legacy_file(pickle(dict({{"a", "N"}})))), HasSubstr("E02"));
  EXPECT_THAT(outcome_of(call(global("os", "system"), {text("true")})), HasSubstr("E0212"));
  EXPECT_THAT(outcome_of(tensor(storage("FloatStorage", "1"))), HasSubstr("E0210"));
  EXPECT_THAT(outcome_of(tensor(storage(), whole(1))), HasSubstr("the tensor a lies outside of its storage"));
}

TEST_F(damaged_states, leave_out_what_is_no_data) {
  const std::string good = pickle(dict({{"args", call(global("argparse", "Namespace"), {})},
                                        {"nested", dict({{"type", global("torch", "float32")}})},
                                        {"epoch", whole(3)},
                                        {"numbered", "}" + whole(1) + whole(2) + "s"}}));
  const auto loaded = load(zip_file(zip_items(good)));
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(loaded->client_state.size(), 1u);
  EXPECT_THAT(loaded->left_out, ::testing::ElementsAre("args", "nested", "numbered"));
}

TEST_F(damaged_states, that_are_nested_too_deep_are_refused) {
  EXPECT_EQ(outcome_of(repeated("]", 60) + repeated("a", 59)), "good");
  const std::string deep = outcome_of(repeated("]", 100) + repeated("a", 99));
  EXPECT_THAT(deep, HasSubstr("its member a is nested more than 64 deep"));
  EXPECT_THAT(outcome_of("]q\x01h\x01"
                         "a"),
              HasSubstr("nested more than 64 deep"))
      << "a list in itself";
}

/// Lists whose items are all one list, and so on: a short file that stands for many values.
TEST_F(damaged_states, take_bounded_memory) {
  const auto list_of = [](const std::string& value, std::size_t times) { return "](" + repeated(value, times) + "e"; };
  const auto twice = [&](std::string value, int deep, std::size_t times) {
    for (int i = 0; i < deep; ++i)
      value = list_of(value + "q" + static_cast<char>(i) + repeated(std::string("h") + static_cast<char>(i), times), 1);
    return value;
  };
  const std::string long_text = text(std::string(100'000, 'x'));
  const std::vector<std::string> values{twice("N", 1, 1'000'000),         twice("N", 2, 800),    twice("N", 30, 1),
                                        twice(long_text, 2, 500),         list_of("N", 300'000), list_of("]", 100'000),
                                        twice(dict({{"k", "N"}}), 3, 200)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string bytes = zip_file(zip_items(pickle(dict({{"a", values[i]}}))));
    ::malloc_trim(0);
    reset_peak();
    const std::uint64_t before = memory_now("VmRSS");
    const std::string found = outcome(bytes);
    const std::uint64_t peak = memory_now("VmHWM");
    EXPECT_TRUE(found == "good" || found.starts_with("error E0214")) << found;
    if (!sanitized) EXPECT_LE(peak, before + 2 * bytes.size() + (64u << 20)) << "file " << i << ": " << found;
  }
}

}  // namespace
}  // namespace troupe::testing
