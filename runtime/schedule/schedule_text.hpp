#pragma once

#include <cstddef>
#include <string>

#include "runtime/schedule/pipe_schedule.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// "L0", "SA1", "RT": one instruction as grids and vectors write it.
std::string to_string(const instruction& i);

/// One JSON object without a newline at the end (docs/schedules.md):
/// {"kind","micro_batches","stages","num_pipe_buffers":[stage],"steps":[stage][step]=[{"op","buffer"},...]}; no
/// `buffer` where uses_buffer() is false. E0103 as make_all_schedules.
expected<std::string> schedule_json(const schedule_shape& shape);

/// The schedule as a grid for a terminal: rows are stages, columns are steps, `-` is an empty step; a heading above, a
/// legend of the instructions that occur below, a newline at the end of every line. No line is longer than `width`
/// columns unless one step alone is; steps that do not fit stand in further blocks below. E0103 as make_all_schedules.
expected<std::string> schedule_grid(const schedule_shape& shape, std::size_t width = 100);

}  // namespace troupe
