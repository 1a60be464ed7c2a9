// Goal: JSON and grid say what the schedule says, and bad counts are errors. Method: fixed texts, and re-reading the
// grid's cells.
#include "runtime/schedule/schedule_text.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

TEST(schedule_json, train_has_no_buffer_for_the_optimizer_part) {
  EXPECT_EQ(
      *schedule_json({schedule_kind::train, 1, 1}),
      R"({"kind":"train","micro_batches":1,"stages":1,"num_pipe_buffers":[2],"steps":[[)"
      R"([{"op":"LoadMicroBatch","buffer":0},{"op":"ForwardPass","buffer":0}],)"
      R"([{"op":"BackwardPass","buffer":0},{"op":"ReduceTiedGrads"},{"op":"ReduceGrads"},{"op":"OptimizerStep"}]]]})");
}

TEST(schedule_json, empty_steps_are_empty_lists) {
  EXPECT_EQ(
      *schedule_json({schedule_kind::inference, 1, 2}),
      R"({"kind":"inference","micro_batches":1,"stages":2,"num_pipe_buffers":[2,2],"steps":[)"
      R"([[{"op":"LoadMicroBatch","buffer":0},{"op":"ForwardPass","buffer":0}],[{"op":"SendActivation","buffer":0}]],)"
      R"([[],[{"op":"LoadMicroBatch","buffer":0},{"op":"RecvActivation","buffer":0},{"op":"ForwardPass","buffer":0}]]]})");
}

TEST(schedule_json, names_the_data_parallel_kind) {
  EXPECT_THAT(
      *schedule_json({schedule_kind::data_parallel, 2, 3}),
      ::testing::StartsWith(R"({"kind":"data-parallel","micro_batches":2,"stages":3,"num_pipe_buffers":[1,1,1],)"));
}

/// Reads the cells of stage rows back: row number -> cells of all blocks in order.
std::map<std::string, std::vector<std::string>> read_grid(const std::string& text, std::size_t width) {
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), width) << line;
    if (line.find(" | ") == std::string::npos) continue;
    std::istringstream parts(line);
    std::string name;
    parts >> name;
    std::size_t at = line.find(" | ");
    while (at != std::string::npos) {
      const std::size_t next = line.find(" | ", at + 1);
      std::string cell = line.substr(at + 3, next == std::string::npos ? next : next - at - 3);
      cell.erase(cell.find_last_not_of(' ') + 1);
      rows[name].push_back(cell);
      at = next;
    }
  }
  return rows;
}

std::string cell(const schedule_step& step) {
  std::string text;
  for (const instruction& i : step) {
    text += text.empty() ? "" : " ";
    text += to_string(i);
  }
  return step.empty() ? "-" : text;
}

TEST(schedule_grid, holds_every_step_of_every_stage_within_the_width) {
  for (const schedule_kind kind : {schedule_kind::inference, schedule_kind::train, schedule_kind::data_parallel}) {
    for (const std::size_t width : {std::size_t{60}, std::size_t{80}, std::size_t{120}}) {
      const schedule_shape shape{kind, 13, 5};
      const auto rows = read_grid(*schedule_grid(shape, width), width);
      ASSERT_EQ(rows.size(), 6u);  // the stages and the heading
      const auto schedules = make_all_schedules(shape);
      for (const auto& schedule : *schedules) {
        const auto& row = rows.at(std::to_string(schedule->stage_id()));
        ASSERT_EQ(row.size(), schedule->num_steps());
        for (std::uint64_t t = 0; t < row.size(); ++t) {
          EXPECT_EQ(row[t], cell(schedule->step(t)));
          EXPECT_EQ(rows.at("stage")[t], std::to_string(t));
        }
      }
    }
  }
}

TEST(schedule_grid, explains_only_what_occurs) {
  const std::string inference = *schedule_grid({schedule_kind::inference, 2, 2});
  EXPECT_THAT(inference, ::testing::HasSubstr("SA SendActivation"));
  EXPECT_THAT(inference, ::testing::Not(::testing::HasSubstr("OptimizerStep")));
  EXPECT_THAT(inference, ::testing::StartsWith("inference schedule: 2 micro-batches, 2 stages, 3 steps\n"));
  EXPECT_THAT(*schedule_grid({schedule_kind::train, 1, 1}),
              ::testing::StartsWith("train schedule: 1 micro-batch, 1 stage, 2 steps\n"));
}

TEST(bad_counts, are_usage_errors) {
  const auto code = [](const schedule_shape& shape) { return schedule_json(shape).error().code; };
  EXPECT_EQ(code({schedule_kind::inference, 0, 1}), error_code::value_out_of_range);
  EXPECT_EQ(code({schedule_kind::inference, 1, 0}), error_code::value_out_of_range);
  EXPECT_EQ(code({schedule_kind::train, 1, limits::stages_max + 1}), error_code::value_out_of_range);
  EXPECT_EQ(code({schedule_kind::train, ~std::uint64_t{0}, 2}), error_code::value_out_of_range);
  EXPECT_EQ(code({schedule_kind::inference, limits::schedule_cells_max, 2}), error_code::value_out_of_range);
  EXPECT_TRUE(make_schedule({schedule_kind::inference, limits::schedule_cells_max, limits::stages_max}, 0).has_value());
  EXPECT_EQ(make_schedule({schedule_kind::inference, 4, 2}, 2).error().code, error_code::value_out_of_range);
  EXPECT_THAT(schedule_grid({schedule_kind::inference, 0, 1}).error().cause,
              ::testing::HasSubstr("micro-batches is 0"));
}

TEST(kinds, are_read_as_they_are_written) {
  for (const schedule_kind kind : {schedule_kind::inference, schedule_kind::train, schedule_kind::data_parallel}) {
    EXPECT_EQ(*parse_schedule_kind(schedule_kind_name(kind)), kind);
  }
  EXPECT_EQ(parse_schedule_kind("Inference").error().code, error_code::unknown_name);
}

}  // namespace
}  // namespace troupe
