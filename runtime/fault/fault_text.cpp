#include <algorithm>
#include <chrono>
#include <ratio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/fault/fault_fields.hpp"
#include "runtime/fault/fault_table.hpp"
#include "runtime/suggest/dotted_name.hpp"

namespace troupe {
namespace {

/// "kill:stage=net.1,at=mb17" as fields with columns; a piece that is no field has no key.
std::vector<fault_field> split_fault(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  std::vector<fault_field> fields = {{"kind", std::string(text.substr(0, colon)), 1, 1}};
  std::size_t begin = colon + 1;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view field = text.substr(begin, end - begin);
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::size_t value = std::min(equals + 1, field.size());
    fields.push_back(
        {std::string(field.substr(0, equals)), std::string(field.substr(value)), begin + 1, begin + value + 1});
    begin = end + 1;
  }
  return fields;
}

std::string target_text(const fault_target& who) {
  std::string text(fault_target_name(who.kind));
  switch (who.kind) {
    case fault_target_kind::edge: {
      const bool has_hyphen = (who.name + who.to).find('-') != std::string::npos;
      return text + '=' + dotted_name(who.name) + (has_hyphen ? "->" : "-") + dotted_name(who.to);
    }
    case fault_target_kind::control:
      return text + "=driver-" + dotted_name(who.name);
    case fault_target_kind::worker:
      return text + '=' + std::to_string(who.rank);
    case fault_target_kind::stage:
      text += '=' + dotted_name(who.name);
      return who.replica ? text + ",replica=" + std::to_string(*who.replica) : text;
    case fault_target_kind::agent:
    case fault_target_kind::node:
      return text + '=' + who.name;
    default:
      return text;
  }
}

template <class Unit>
double count_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, Unit>(time).count();
}

std::string trigger_text(const fault_trigger& when) {
  const std::string step = when.step ? fmt::format(",step={}", *when.step) : "";
  switch (when.kind) {
    case fault_trigger_kind::micro_batch:
      return fmt::format(",at=mb{}", when.number) + step;
    case fault_trigger_kind::backward:
      return fmt::format(",at=backward{}", when.number) + step;
    case fault_trigger_kind::vote:
    case fault_trigger_kind::decision:
    case fault_trigger_kind::apply:
    case fault_trigger_kind::recovery:
      return fmt::format(",at={}", moment_name(when.kind)) + step;
    case fault_trigger_kind::message:
      return fmt::format(",at=msg{}", when.number);
    case fault_trigger_kind::time:
      return fmt::format(",at={}s", count_of<std::ratio<1>>(when.after));
    case fault_trigger_kind::probability:
      return fmt::format(",p={}", when.probability) + (when.seed == 0 ? "" : fmt::format(",seed={}", when.seed));
    case fault_trigger_kind::always:
      break;
  }
  return {};
}

}  // namespace

std::string to_string(const fault& one) {
  std::string text = std::string(fault_name(one.kind)) + ':' + target_text(one.who) + trigger_text(one.when);
  if (one.lasts) text += fmt::format(",for={}s", count_of<std::ratio<1>>(*one.lasts));
  if (one.delay) text += fmt::format(",ms={}", count_of<std::milli>(*one.delay));
  if (one.jitter) text += fmt::format(",jitter={}", count_of<std::milli>(*one.jitter));
  if (one.bytes) text += fmt::format(",bytes={}", *one.bytes);
  if (one.direction) text += fmt::format(",direction={}", direction_name(*one.direction));
  return text;
}

expected<fault> parse_fault(std::string_view text) {
  const auto read = read_fault(split_fault(text));
  if (read) return *read;
  const fault_mistake& wrong = read.error();
  return fail(error_code::fault_invalid, fmt::format("fault \"{}\", column {}", text, wrong.at), wrong.cause,
              wrong.fix.empty() ? "write for example kill:stage=net.1,at=mb17" : wrong.fix);
}

}  // namespace troupe
