#pragma once

#include <exception>
#include <string>

namespace troupe {

/// What went wrong in LibTorch's own words, without its C++ backtrace and without the TorchScript traceback: the first
/// lines of the message proper, joined into one.
std::string libtorch_message(const std::exception& caught);

}  // namespace troupe
