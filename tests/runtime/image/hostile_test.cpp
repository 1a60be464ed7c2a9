// Goal: no picture crashes the program, or costs it more memory than twice the file and 64 MiB, or more than ten
// seconds. Method: each is decoded in a process of its own, with the outcome that it must have; then good pictures are
// cut short at many places, and have bytes changed.
#include <csignal>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"
#include "hostile_pictures.hpp"
#include "runtime/image/picture_steps.hpp"

namespace troupe::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr unsigned seconds_max = sanitized ? 100 : 10;
constexpr picture_size wanted{8, 8};

std::string outcome_of(const std::string& bytes) {
  static const picture_reader reader({.resize = wanted});
  std::vector<float> room(std::size_t{3} * wanted.width * wanted.height);
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const auto done = reader.read(file, "x.png", wanted, room);
  return done ? "good" : to_string(done.error());
}

struct child_outcome {
  std::string text;
  std::uint64_t more_bytes = 0;
};

/// Ends the process.
[[noreturn]] void decode_in_child(const std::string& bytes, int output) {
  alarm(seconds_max);
  const rlimit room{2ull << 30, 2ull << 30};
  if (!sanitized) setrlimit(RLIMIT_AS, &room);  // AddressSanitizer maps terabytes for itself
  outcome_of(small_png());
  malloc_trim(0);
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string text = outcome_of(bytes);
  text += "\n" + std::to_string(memory_now("VmHWM") - before);
  const bool is_written = write(output, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(is_written ? 0 : 1);
}

child_outcome outcome_in_child(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) decode_in_child(bytes, ends[1]);
  close(ends[1]);
  child_outcome outcome;
  char piece[4096];
  for (ssize_t got = 0; (got = read(ends[0], piece, sizeof piece)) > 0;) outcome.text.append(piece, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {.text = std::string("killed by ") + strsignal(WTERMSIG(status))};
  const std::size_t end = outcome.text.rfind('\n');
  if (end == std::string::npos) return outcome;
  outcome.more_bytes = std::stoull(outcome.text.substr(end + 1));
  outcome.text.resize(end);
  return outcome;
}

void check_all(const std::vector<hostile_picture>& pictures) {
  for (const hostile_picture& each : pictures) {
    const child_outcome outcome = outcome_in_child(each.bytes);
    EXPECT_THAT(outcome.text, HasSubstr(each.outcome)) << each.name;
    if (sanitized) continue;
    EXPECT_LE(outcome.more_bytes, 2 * each.bytes.size() + (64u << 20)) << each.name;
  }
}

TEST(hostile_pictures, pngs_are_refused_or_cost_little) {
  check_all(hostile_pngs());
}

TEST(hostile_pictures, jpegs_are_refused_or_cost_little) {
  check_all(hostile_jpegs());
}

TEST(hostile_pictures, others_are_told_by_name) {
  EXPECT_THAT(outcome_of("GIF89a..."), HasSubstr("E0303: x.png: is a GIF"));
  EXPECT_THAT(outcome_of("RIFFxxxxWEBPVP8 "), HasSubstr("is a WebP file"));
  EXPECT_THAT(outcome_of("<!DOCTYPE html>"), HasSubstr("a web page"));
  EXPECT_THAT(outcome_of("version https://git-lfs.github.com/spec/v1"), HasSubstr("Git LFS"));
  EXPECT_THAT(outcome_of(""), HasSubstr("E0306"));
  EXPECT_THAT(outcome_of("\xff\xd8"), HasSubstr("neither a JPEG nor a PNG"));
}

const char* const kinds[] = {"rgb_420.jpg", "rgb_420_progressive.jpg", "cmyk.jpg",      "grey.jpg",
                             "rgb_8.png",   "rgb_8_interlaced.png",    "palette_4.png", "grey_16.png"};

/// As with Pillow, a missing end is an error wherever the file was cut.
TEST(hostile_pictures, are_truncated_wherever_they_are_cut) {
  for (const char* name : kinds) {
    const std::string whole = recorded_picture(name);
    EXPECT_EQ(outcome_of(whole), "good") << name;
    for (std::size_t size = 8; size < whole.size(); ++size) {
      const std::string outcome = outcome_of(whole.substr(0, size));
      ASSERT_THAT(outcome, AnyOf(HasSubstr("E0302"), HasSubstr("E0303"))) << name << " cut to " << size;
    }
  }
}

TEST(hostile_pictures, with_changed_bytes_are_good_or_errors) {
  std::mt19937 draw(49);
  for (const char* name : kinds) {
    const std::string whole = recorded_picture(name);
    for (int i = 0; i < 300; ++i) {
      std::string changed = whole;
      for (int k = 0; k < 1 + i % 3; ++k) changed[8 + draw() % (changed.size() - 8)] = static_cast<char>(draw());
      const std::string outcome = outcome_of(changed);
      ASSERT_THAT(outcome, AnyOf(HasSubstr("good"), HasSubstr("error E03"))) << name;
    }
  }
}

}  // namespace
}  // namespace troupe::testing
