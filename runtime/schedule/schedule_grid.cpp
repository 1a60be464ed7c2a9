#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/schedule/schedule_text.hpp"

namespace troupe {
namespace {

using schedules = std::vector<std::unique_ptr<pipe_schedule>>;

std::string cell_text(const schedule_step& step) {
  if (step.empty()) {
    return "-";
  }
  std::string text;
  for (const instruction& i : step) {
    text += text.empty() ? "" : " ";
    text += to_string(i);
  }
  return text;
}

/// One step of all stages.
struct column {
  std::uint64_t t = 0;
  std::vector<std::string> cells;
  std::size_t width = 0;
};

column make_column(const schedules& stages, std::uint64_t t) {
  column c{.t = t, .cells = {}, .width = fmt::formatted_size("{}", t)};
  for (const auto& stage : stages) {
    c.cells.push_back(cell_text(stage->step(t)));
    c.width = std::max(c.width, c.cells.back().size());
  }
  return c;
}

constexpr std::string_view between = " | ";

/// The row heads: stage and its buffers.
std::string head(std::string_view stage, std::string_view buffers) {
  return fmt::format("{:>5}  {:>7}", stage, buffers);
}

void without_trailing_blanks(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void draw_block(std::string& text, const schedules& stages, const std::vector<column>& block) {
  text += '\n';
  text += head("stage", "buffers");
  for (const column& c : block) {
    text += fmt::format("{}{:<{}}", between, c.t, c.width);
  }
  without_trailing_blanks(text);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    text += head(fmt::format("{}", s), fmt::format("{}", stages[s]->num_pipe_buffers()));
    for (const column& c : block) {
      text += fmt::format("{}{:<{}}", between, c.cells[s], c.width);
    }
    without_trailing_blanks(text);
  }
}

void draw_blocks(std::string& text, const schedules& stages, std::size_t width) {
  const std::size_t head_width = head("stage", "buffers").size();
  std::vector<column> block;
  std::size_t used = head_width;
  for (std::uint64_t t = 0; t < stages.front()->num_steps(); ++t) {
    column next = make_column(stages, t);
    const std::size_t cost = between.size() + next.width;
    if (!block.empty() && used + cost > width) {
      draw_block(text, stages, block);
      block.clear();
      used = head_width;
    }
    used += cost;
    block.push_back(std::move(next));
  }
  draw_block(text, stages, block);
}

void draw_legend(std::string& text, const schedules& stages, std::size_t width) {
  std::array<bool, all_instruction_kinds.size()> occurs{};
  for (const auto& stage : stages) {
    for (const schedule_step& step : *stage) {
      for (const instruction& i : step) {
        occurs[static_cast<std::size_t>(i.kind)] = true;
      }
    }
  }
  std::vector<std::string> entries;
  for (const instruction_kind kind : all_instruction_kinds) {
    if (occurs[static_cast<std::size_t>(kind)]) {
      entries.push_back(fmt::format("{} {}", instruction_letters(kind), instruction_name(kind)));
    }
  }
  entries.emplace_back("digit = buffer");
  entries.emplace_back("- = idle");
  std::string line;
  for (const std::string& entry : entries) {
    if (!line.empty() && line.size() + 2 + entry.size() > width) {
      text += '\n';
      text += line;
      line.clear();
    }
    line += line.empty() ? "" : "  ";
    line += entry;
  }
  text += '\n';
  text += line;
  text += '\n';
}

std::string count(std::uint64_t n, std::string_view what, std::string_view plural = "s") {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : plural);
}

}  // namespace

std::string to_string(const instruction& i) {
  std::string text(instruction_letters(i.kind));
  if (uses_buffer(i.kind)) {
    text += fmt::format("{}", i.buffer);
  }
  return text;
}

expected<std::string> schedule_grid(const schedule_shape& shape, std::size_t width) {
  return make_all_schedules(shape).map([&](const schedules& stages) {
    std::string text = fmt::format("{} schedule: {}, {}, {}\n", schedule_kind_name(shape.kind),
                                   count(shape.micro_batches, "micro-batch", "es"), count(shape.stages, "stage"),
                                   count(stages.front()->num_steps(), "step"));
    draw_blocks(text, stages, width);
    draw_legend(text, stages, width);
    return text;
  });
}

}  // namespace troupe
