#include "runtime/partition/boundaries.hpp"

#include <fmt/format.h>

#include "messages/limits.hpp"

namespace troupe {

expected<void> check_parts(std::size_t parts) {
  if (parts >= 1 && parts <= limits::stages_max) {
    return {};
  }
  return fail(error_code::value_out_of_range, "stages",
              fmt::format("{} stages, allowed are 1 to {}", parts, limits::stages_max),
              fmt::format("choose a number of stages between 1 and {}", limits::stages_max));
}

expected<void> check_enough(const cut_items& items, std::size_t parts) {
  const std::size_t most = items.count - items.joined;
  if (parts <= most) return {};
  std::string cause = fmt::format("{} stages for {} {}{}", parts, items.count, items.what, items.count == 1 ? "" : "s");
  if (items.joined > 0) cause += fmt::format(", {} of which cannot be separated from the one before", items.joined);
  if (!items.because.empty()) cause += ": " + items.because;
  if (items.because.empty() && items.what == "layer")
    cause += " (troupe inspect lists them; --layers operators may have more)";
  return fail(error_code::more_stages_than_layers, "stages", std::move(cause),
              fmt::format("use at most {} stage{}", most, most == 1 ? "" : "s"));
}

expected<part_boundaries> check_boundaries(const partition_method& method, std::size_t items, std::size_t parts,
                                           std::string_view what) {
  const std::size_t last = method.boundaries.back();
  if (last != items) {
    return fail(error_code::partition_bad_boundaries, "partition " + to_string(method),
                fmt::format("the last boundary is {}, and there are {} {}s", last, items, what),
                fmt::format("end the list with {}", items));
  }
  const std::size_t found = method.boundaries.size() - 1;
  if (found != parts) {
    return fail(error_code::flags_contradict, "partition " + to_string(method),
                fmt::format("these boundaries make {} stages, and {} are asked for", found, parts),
                fmt::format("ask for {} stages, or give {} numbers", found, parts + 1));
  }
  return method.boundaries;
}

}  // namespace troupe
