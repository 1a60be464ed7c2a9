#include "runtime/schedule/pipe_schedule.hpp"

#include <array>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/schedule/data_parallel_schedule.hpp"
#include "runtime/schedule/inference_schedule.hpp"
#include "runtime/schedule/train_schedule.hpp"

namespace troupe {
namespace {

constexpr std::array<std::string_view, 3> kind_names{"inference", "train", "data-parallel"};

expected<void> check_range(std::string_view what, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
  if (value >= low && value <= high) {
    return {};
  }
  return fail(error_code::value_out_of_range, "schedule",
              fmt::format("{} is {}, allowed are {} to {}", what, value, low, high),
              fmt::format("choose a number of {} between {} and {}", what, low, high));
}

expected<void> check_shape(const schedule_shape& shape) {
  return check_range("micro-batches", shape.micro_batches, 1, limits::schedule_cells_max).and_then([&] {
    return check_range("stages", shape.stages, 1, limits::stages_max);
  });
}

std::unique_ptr<pipe_schedule> construct(const schedule_shape& shape, stage_index stage_id) {
  switch (shape.kind) {
    case schedule_kind::inference:
      return std::make_unique<inference_schedule>(shape.micro_batches, shape.stages, stage_id);
    case schedule_kind::train:
      return std::make_unique<train_schedule>(shape.micro_batches, shape.stages, stage_id);
    case schedule_kind::data_parallel:
      return std::make_unique<data_parallel_schedule>(shape.micro_batches, shape.stages, stage_id);
  }
  TROUPE_CHECK(false, "a schedule is one of the three kinds");
}

}  // namespace

std::string_view schedule_kind_name(schedule_kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  TROUPE_CHECK(index < kind_names.size(), "a schedule is one of the three kinds");
  return kind_names[index];
}

expected<schedule_kind> parse_schedule_kind(std::string_view text) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (text == kind_names[i]) {
      return static_cast<schedule_kind>(i);
    }
  }
  return fail(error_code::unknown_name, "schedule", fmt::format("there is no schedule kind '{}'", text),
              "choose inference, train or data-parallel");
}

pipe_schedule::pipe_schedule(std::uint64_t micro_batches, std::uint32_t stages, stage_index stage_id)
    : micro_batches_(micro_batches), stages_(stages), stage_id_(stage_id) {
  TROUPE_CHECK(micro_batches >= 1 && micro_batches <= limits::schedule_cells_max,
               "make_schedule checks the micro-batches");
  TROUPE_CHECK(stages >= 1 && stages <= limits::stages_max, "make_schedule checks the stages");
  TROUPE_CHECK(stage_id < stages, "a stage's number is below the number of stages");
}

expected<std::unique_ptr<pipe_schedule>> make_schedule(const schedule_shape& shape, stage_index stage_id) {
  return check_shape(shape).and_then([&] { return check_range("stage", stage_id, 0, shape.stages - 1); }).map([&] {
    return construct(shape, stage_id);
  });
}

expected<std::vector<std::unique_ptr<pipe_schedule>>> make_all_schedules(const schedule_shape& shape) {
  if (auto ok = check_shape(shape); !ok) {
    return tl::make_unexpected(std::move(ok.error()));
  }
  std::vector<std::unique_ptr<pipe_schedule>> all;
  for (stage_index s = 0; s < shape.stages; ++s) {
    all.push_back(construct(shape, s));
  }
  const std::uint64_t cells = all.front()->num_steps() * shape.stages;
  if (cells > limits::schedule_cells_max) {
    return fail(error_code::value_out_of_range, "schedule",
                fmt::format("{} stages x {} steps are {} cells, at most {} can be printed", shape.stages,
                            all.front()->num_steps(), cells, limits::schedule_cells_max),
                "ask for fewer micro-batches or stages");
  }
  return all;
}

}  // namespace troupe
