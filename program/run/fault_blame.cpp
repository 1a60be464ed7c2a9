#include "program/run/fault_blame.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/fault/fault_shape.hpp"

namespace troupe {
namespace {

/// Who has more looks into the log.
constexpr std::size_t faults_named_max = 3;

/// A forward is tried once more, and what comes twice or in another order is sorted.
bool is_harmless(fault_kind kind) {
  return kind == fault_kind::throw_error || kind == fault_kind::out_of_memory || kind == fault_kind::duplicate ||
         kind == fault_kind::reorder;
}

/// New edges are as silent as those before.
bool is_for_ever(const fault& one) {
  return !is_once(one) || ((one.kind == fault_kind::partition || one.kind == fault_kind::half_open) && !one.lasts);
}

/// In the order in which they were injected first.
std::vector<std::size_t> suspects(const fault_record& record) {
  const auto entries = record.entries();
  std::vector<std::size_t> found;
  for (std::size_t number = 0; number < entries.size(); ++number) {
    const fault& one = record.plan().faults()[number];
    const bool is_over = entries[number].recovery_time && !is_for_ever(one);
    if (entries[number].times > 0 && !is_over && !is_harmless(one.kind)) found.push_back(number);
  }
  std::ranges::stable_sort(found, {}, [&](std::size_t number) { return *entries[number].after; });
  return found;
}

bool was_asked_for(error_code how) {
  return how == error_code::interrupted || how == error_code::deadline_passed || how == error_code::engine_stopped;
}

}  // namespace

error after_faults(error how, fault_injector* faults) {
  if (faults == nullptr || was_asked_for(how.code)) return how;
  faults->look();
  const fault_record& record = faults->record();
  std::vector<std::size_t> numbers = suspects(record);
  if (numbers.empty()) return how;
  if (numbers.size() > faults_named_max) numbers.erase(numbers.begin(), numbers.end() - faults_named_max);
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const std::size_t number : numbers) texts.push_back(to_string(record.plan().faults()[number]));
  how.cause = fmt::format("after the injected fault{} {}: {}", texts.size() == 1 ? "" : "s", fmt::join(texts, " and "),
                          how.cause);
  how.fix = how.fix.empty() ? "take it out of the plan" : how.fix + "; or take the fault out of the plan";
  return how;
}

}  // namespace troupe
