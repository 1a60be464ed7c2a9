#pragma once

#include <string_view>

#include "runtime/weights/reading.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// Takes the prefix off, if every name has it and something behind it.
bool take_off_prefix(state_dict& dict, std::string_view prefix);

/// Takes "module." (of DataParallel) and "_orig_mod." (of torch.compile) off as often as every name has one of them.
void take_off_wrappers(state_dict& dict);

/// E0210 where two tensors have one name.
expected<void> check_names(const state_dict& dict, const std::string& where);

}  // namespace troupe
