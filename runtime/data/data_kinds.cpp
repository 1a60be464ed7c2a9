#include "runtime/data/data_kinds.hpp"

namespace troupe {

std::string data_forms() {
  std::string forms;
  for (const data_kind& kind : data_kinds) {
    forms += (forms.empty() ? "" : ", ") + std::string(kind.name) + ":" + std::string(kind.path);
  }
  return forms;
}

std::vector<std::string> data_kind_names() {
  std::vector<std::string> names;
  names.reserve(data_kinds.size());
  for (const data_kind& kind : data_kinds) names.emplace_back(kind.name);
  return names;
}

}  // namespace troupe
