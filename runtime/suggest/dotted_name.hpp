#pragma once

#include <algorithm>
#include <string>

namespace troupe {

/// The spelling of a stage in flags and fault plans, which take no blanks: "net 1" is net.1.
inline std::string dotted_name(std::string name) {
  std::ranges::replace(name, ' ', '.');
  return name;
}

}  // namespace troupe
