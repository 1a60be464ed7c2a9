// Goal: schedules equal the published vectors. Method: print every step in the vectors' own notation and compare by
// hand-copied text.
#include <ranges>
#include <string>

#include <gtest/gtest.h>

#include "runtime/schedule/pipe_schedule.hpp"
#include "runtime/schedule/schedule_text.hpp"

namespace troupe {
namespace {

static_assert(std::ranges::input_range<const pipe_schedule>);

std::string text_of(const pipe_schedule& schedule) {
  std::string text;
  std::uint64_t t = 0;
  for (const schedule_step& step : schedule) {
    text += t++ == 0 ? "" : " | ";
    text += step.empty() ? "-" : "";
    for (std::size_t i = 0; i < step.size(); ++i) {
      text += i == 0 ? "" : " ";
      text += to_string(step[i]);
    }
  }
  EXPECT_EQ(t, schedule.num_steps());
  return text;
}

std::string steps(schedule_kind kind, std::uint64_t micro_batches, std::uint32_t stages, stage_index stage) {
  const auto schedule = make_schedule({kind, micro_batches, stages}, stage);
  const std::string once = text_of(**schedule);
  EXPECT_EQ(once, text_of(**schedule)) << "a second iteration differs from the first";
  return once;
}

TEST(inference_vectors, three_micro_batches_three_stages) {
  EXPECT_EQ(steps(schedule_kind::inference, 3, 3, 0), "L0 F0 | L1 SA0 F1 | L0 SA1 F0 | SA0 | -");
  EXPECT_EQ(steps(schedule_kind::inference, 3, 3, 1), "- | RA0 F0 | RA1 SA0 F1 | RA0 SA1 F0 | SA0");
  EXPECT_EQ(steps(schedule_kind::inference, 3, 3, 2), "- | - | L0 RA0 F0 | L1 RA1 F1 | L0 RA0 F0");
}

TEST(inference_vectors, four_micro_batches_four_stages) {
  EXPECT_EQ(steps(schedule_kind::inference, 4, 4, 2), "- | - | RA0 F0 | SA0 RA1 F1 | SA1 RA0 F0 | SA0 RA1 F1 | SA1");
}

TEST(train_vectors, three_micro_batches_two_stages) {
  EXPECT_EQ(steps(schedule_kind::train, 3, 2, 0),
            "L0 F0 | SA0 | L1 F1 | RG0 SA1 B0 | L0 F0 | RG1 SA0 B1 | - | RG0 B0 RT R O");
  EXPECT_EQ(steps(schedule_kind::train, 3, 2, 1),
            "- | RA0 L0 F0 | B0 | SG0 RA1 L1 F1 | B1 | SG1 RA0 L0 F0 | B0 | SG0 RT R O");
}

TEST(train_vectors, one_stage) {
  EXPECT_EQ(steps(schedule_kind::train, 2, 1, 0), "L0 F0 | B0 | L1 F1 | B1 RT R O");
}

TEST(data_parallel_vectors, every_stage_runs_the_same) {
  EXPECT_EQ(steps(schedule_kind::data_parallel, 3, 1, 0), "L0 F0 B0 | L0 F0 B0 | L0 F0 B0 R O");
  EXPECT_EQ(steps(schedule_kind::data_parallel, 1, 4, 3), "L0 F0 B0 R O");
}

TEST(buffers, as_each_kind_states) {
  const auto buffers = [](schedule_kind kind, std::uint64_t m, std::uint32_t stages, stage_index s) {
    return (*make_schedule({kind, m, stages}, s))->num_pipe_buffers();
  };
  EXPECT_EQ(buffers(schedule_kind::inference, 9, 5, 2), 2u);
  EXPECT_EQ(buffers(schedule_kind::data_parallel, 9, 5, 2), 1u);
  EXPECT_EQ(buffers(schedule_kind::train, 8, 4, 0), 4u);
  EXPECT_EQ(buffers(schedule_kind::train, 8, 4, 3), 2u);
  EXPECT_EQ(buffers(schedule_kind::train, 3, 9, 0), 3u);
  EXPECT_EQ(buffers(schedule_kind::train, 1, 9, 0), 2u);
}

}  // namespace
}  // namespace troupe
