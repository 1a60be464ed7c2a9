#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// Takes the prefix off, if every name has it and something behind it.
bool take_off_prefix(state_dict& dict, std::string_view prefix);

/// Takes "module." (of DataParallel) and "_orig_mod." (of torch.compile) off as often as every name has one of them.
void take_off_wrappers(state_dict& dict);

/// A prefix that all names have on one side alone: those of the file, or those that the model looks for in it.
struct other_prefix {
  std::string prefix;  ///< with its dot: "net."
  bool is_in_file = true;
};

/// Why names are missing from a file, if it is a prefix: without it, most of them are found. Nothing otherwise.
std::optional<other_prefix> find_other_prefix(const std::vector<std::string>& missing,
                                              const std::vector<std::string>& in_file);
/// Says the prefix, and how to save the weights as the model wants them.
std::string fix_of_prefix(const other_prefix& found);

/// E0210 where two tensors have one name.
expected<void> check_names(const state_dict& dict, const std::string& where);

}  // namespace troupe
