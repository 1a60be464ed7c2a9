// Goal: no picture crashes the program, or costs it more memory than twice the file and 64 MiB, or more than ten
// seconds. Method: each is decoded in a process of its own, with the outcome that it must have; then good pictures are
// cut short at many places, and have bytes changed.
#include <csignal>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../support/measured_child.hpp"
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

child_outcome outcome_of_hostile(const std::string& bytes) {
  return outcome_in_child({.memory_max = std::uint64_t{2} << 30,
                           .seconds_max = seconds_max,
                           .warm_up = [] { outcome_of(small_png()); },
                           .run = [&] { return outcome_of(bytes); }});
}

void check_all(const std::vector<hostile_picture>& pictures) {
  for (const hostile_picture& each : pictures) {
    const child_outcome outcome = outcome_of_hostile(each.bytes);
    EXPECT_THAT(outcome.text, HasSubstr(each.outcome)) << each.name;
    if (instrumented) continue;
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
