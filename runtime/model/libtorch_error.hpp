#pragma once

#include <exception>
#include <string>

namespace troupe {

/// What went wrong in LibTorch's own words, without its C++ backtrace and without the TorchScript traceback: the first
/// lines of the message proper, joined into one.
std::string libtorch_message(const std::exception& caught);

/// What to do about it: `otherwise`, unless LibTorch found no memory, or met two floating types, such as float64 inputs
/// and float32 weights. Where memory is short its message says how much was asked for and, of a GPU, how much is free.
std::string libtorch_fix(const std::exception& caught, std::string otherwise);

}  // namespace troupe
