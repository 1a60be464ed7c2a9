#include "runtime/model/load_time_calls.hpp"

#include <algorithm>

#include "messages/limits.hpp"

namespace troupe {
namespace {

constexpr auto effect = "computes while it is loaded, which may take any time and memory";

code_effect effect_in(const code_function& function, std::string text) {
  return {.class_name = function.class_name,
          .method = function.name,
          .line = function.line,
          .text = std::move(text),
          .effect = effect};
}

}  // namespace

void load_time_calls::add(const std::string& module, code_function function) {
  std::string name = function.name;
  functions_.emplace(std::move(name), known{module, std::move(function)});
}

std::optional<std::pair<std::string, code_effect>> load_time_calls::risk() const {
  found risk;
  if (!functions_.contains("__setstate__")) return risk;
  std::map<std::string, std::uint64_t> counted;
  for (auto each = functions_.lower_bound("__"); each != functions_.end() && each->first.starts_with("__"); ++each) {
    const bool is_written_only = each->first == "__getstate__";
    if (!is_written_only) count_calls(each->first, counted, 0, risk);
    if (risk) break;
  }
  return risk;
}

/// 0 for a name that no function of the archive has.
std::uint64_t load_time_calls::count_calls(const std::string& name, std::map<std::string, std::uint64_t>& counted,
                                           std::size_t depth, found& risk) const {
  const auto [begin, end] = functions_.equal_range(name);
  if (begin == end || risk) return 0;
  // One that calls itself is met again before it is counted; LibTorch refuses it.
  const auto [known_count, is_new] = counted.try_emplace(name, 1);
  if (!is_new) return known_count->second;
  std::uint64_t calls = 0;
  for (auto each = begin; each != end; ++each) calls += count_calls_in(each->second, counted, depth, risk);
  counted[name] = calls;
  return calls;
}

std::uint64_t load_time_calls::count_calls_in(const known& one, std::map<std::string, std::uint64_t>& counted,
                                              std::size_t depth, found& risk) const {
  const code_function& function = one.function;
  if (function.risk) risk = std::pair{one.module, effect_in(function, *function.risk)};
  std::uint64_t calls = 1;
  for (const std::string& name : function.names) {
    if (risk) return calls;
    if (name != function.name) calls += count_calls(name, counted, depth + 1, risk);
    if (calls > load_time_calls_max || depth > limits::model_object_depth_max) {
      risk = std::pair{one.module, effect_in(function, "calls within calls")};
    }
  }
  return calls;
}

}  // namespace troupe
