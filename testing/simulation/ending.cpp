#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "testing/simulation/judge.hpp"

namespace troupe::simulation {

std::string ending_of(const history& seen) {
  std::set<std::uint64_t> codes;
  std::uint32_t last = 0;
  for (const event& each : seen) last = std::max(last, each.driver);
  for (const event& each : seen) {
    if (each.what == happening::answered && each.value != 0) codes.insert(each.value);
  }
  if (codes.empty()) return "same bits";
  std::string text;
  for (const std::uint64_t code : codes) text += fmt::format("{}E{:04}", text.empty() ? "" : " ", code);
  return text;
}

}  // namespace troupe::simulation
