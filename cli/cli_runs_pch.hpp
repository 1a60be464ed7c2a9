#include <troupe/cli/cli_pch.hpp>
#include <troupe/runtime/torch_pch.hpp>
