#include "runtime/data/data_warnings.hpp"

namespace troupe {

std::vector<std::string> warnings_about(const data_set& data) {
  std::vector<std::string> made = data.left_out_reasons();
  const std::uint64_t told = made.size();
  for (std::string& each : made) each.insert(0, "left out: ");
  const std::uint64_t left_out = data.left_out();
  if (told > 0 && told < left_out) made.push_back(std::to_string(left_out - told) + " more were left out");
  for (const std::string& each : data.remarks()) made.push_back(each);
  return made;
}

}  // namespace troupe
