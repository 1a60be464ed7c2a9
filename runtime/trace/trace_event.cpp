#include <iterator>

#include <fmt/format.h>

#include <troupe/trace_event.hpp>

namespace troupe {

std::string to_string(const trace_event& event) {
  return fmt::format("{} of {} (order {})", instruction_name(event.what), to_string(event.id), event.order);
}

std::string trace_json_lines(std::span<const trace_event> events) {
  std::string text;
  for (const trace_event& e : events) {
    fmt::format_to(std::back_inserter(text),
                   R"({{"order":{},"stage":{},"replica":{},"op":"{}","call":{},"micro_batch":{},"buffer":{}}})",
                   e.order, e.where.stage, e.where.replica, instruction_name(e.what), e.id.call, e.id.index, e.buffer);
    text += '\n';
  }
  return text;
}

}  // namespace troupe
