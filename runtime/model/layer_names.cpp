#include "runtime/model/layer_names.hpp"

#include <set>

namespace troupe {

std::optional<std::string> layer_names::path_to(const std::string& type) const {
  struct place {
    std::string type;
    std::string path;
  };
  std::vector<place> open{{root_, ""}};
  std::set<std::string> seen{root_};
  for (std::size_t next = 0; next < open.size(); ++next) {
    const auto found = attributes_.find(open[next].type);
    if (found == attributes_.end()) continue;
    for (const auto& [name, inner] : found->second) {
      const std::string path = open[next].path.empty() ? name : open[next].path + "." + name;
      if (inner == type) return "layer " + path;
      if (seen.insert(inner).second) open.push_back({inner, path});
    }
  }
  return std::nullopt;
}

}  // namespace troupe
