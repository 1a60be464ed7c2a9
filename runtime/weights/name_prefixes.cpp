#include "runtime/weights/name_prefixes.hpp"

#include <algorithm>
#include <unordered_set>

namespace troupe {
namespace {

using names = std::vector<std::string>;

/// `some` with the prefix before all of its names, by the first of them that is a name of `many` with something before
/// it; empty for none.
std::string prefix_between(const names& some, const names& many) {
  constexpr std::size_t tried_max = 8;
  for (std::size_t i = 0; i < some.size() && i < tried_max; ++i) {
    const std::string end = "." + some[i];
    const auto found = std::ranges::find_if(many, [&](const std::string& each) { return each.ends_with(end); });
    if (found != many.end()) return found->substr(0, found->size() - some[i].size());
  }
  return {};
}

bool all_have(const names& all, const std::string& prefix) {
  return std::ranges::all_of(all, [&](const std::string& each) { return each.starts_with(prefix); });
}

}  // namespace

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

std::optional<other_prefix> find_other_prefix(const names& missing, const names& in_file) {
  const std::unordered_set<std::string> there(in_file.begin(), in_file.end());
  const auto are_most_there = [&](const auto& rename) {
    const auto count = std::ranges::count_if(missing, [&](const auto& each) { return there.contains(rename(each)); });
    return 2 * static_cast<std::size_t>(count) >= missing.size();
  };
  if (const std::string prefix = prefix_between(missing, in_file); !prefix.empty() && all_have(in_file, prefix)) {
    if (are_most_there([&](const std::string& each) { return prefix + each; })) return other_prefix{prefix, true};
  }
  if (const std::string prefix = prefix_between(in_file, missing); !prefix.empty() && all_have(missing, prefix)) {
    const auto without = [&](const std::string& each) { return each.substr(prefix.size()); };
    if (are_most_there(without)) return other_prefix{prefix, false};
  }
  return std::nullopt;
}

std::string fix_of_prefix(const other_prefix& found) {
  const std::string& prefix = found.prefix;
  const std::string renamed = found.is_in_file ? "name.removeprefix(\"" + prefix + "\")" : "\"" + prefix + "\" + name";
  return "every name " + std::string(found.is_in_file ? "of the file" : "that is looked for") + " begins with \"" +
         prefix + "\": save the state dict " + (found.is_in_file ? "without" : "with") +
         " it, in Python: torch.save({" + renamed + ": value for name, value in state_dict.items()}, \"weights.pt\")";
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
