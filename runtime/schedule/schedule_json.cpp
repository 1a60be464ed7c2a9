#include <iterator>

#include <fmt/format.h>

#include "runtime/schedule/schedule_text.hpp"

namespace troupe {
namespace {

using output = std::back_insert_iterator<std::string>;

// No name in a schedule holds a character that JSON escapes.
void write(output out, const instruction& i) {
  if (uses_buffer(i.kind)) {
    fmt::format_to(out, R"({{"op":"{}","buffer":{}}})", instruction_name(i.kind), i.buffer);
  } else {
    fmt::format_to(out, R"({{"op":"{}"}})", instruction_name(i.kind));
  }
}

template <class Range, class Write>
void write_array(output out, const Range& items, Write write_item) {
  *out++ = '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      *out++ = ',';
    }
    first = false;
    write_item(item);
  }
  *out++ = ']';
}

}  // namespace

expected<std::string> schedule_json(const schedule_shape& shape) {
  return make_all_schedules(shape).map([&](const auto& stages) {
    std::string text;
    const output out(text);
    fmt::format_to(out, R"({{"kind":"{}","micro_batches":{},"stages":{},"num_pipe_buffers":)",
                   schedule_kind_name(shape.kind), shape.micro_batches, shape.stages);
    write_array(out, stages, [&](const auto& stage) { fmt::format_to(out, "{}", stage->num_pipe_buffers()); });
    text += R"(,"steps":)";
    write_array(out, stages, [&](const auto& stage) {
      write_array(out, *stage, [&](const schedule_step& step) {
        write_array(out, step, [&](const instruction& i) { write(out, i); });
      });
    });
    text += '}';
    return text;
  });
}

}  // namespace troupe
