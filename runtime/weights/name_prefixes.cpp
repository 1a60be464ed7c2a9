#include "runtime/weights/name_prefixes.hpp"

#include <algorithm>
#include <vector>

namespace troupe {

bool take_off_prefix(state_dict& dict, std::string_view prefix) {
  const auto has_it = [&](const named_tensor& each) {
    return each.name.size() > prefix.size() && each.name.starts_with(prefix);
  };
  if (dict.empty() || !std::ranges::all_of(dict, has_it)) return false;
  for (named_tensor& each : dict) each.name.erase(0, prefix.size());
  return true;
}

void take_off_wrappers(state_dict& dict) {
  while (take_off_prefix(dict, "module.") || take_off_prefix(dict, "_orig_mod.")) {
  }
}

expected<void> check_names(const state_dict& dict, const std::string& where) {
  std::vector<std::string_view> names;
  names.reserve(dict.size());
  for (const named_tensor& each : dict) names.push_back(each.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return fail(error_code::model_unreadable, where, "the file is damaged: it has two tensors " + std::string(*twice),
              weights_copy_fix);
}

}  // namespace troupe
