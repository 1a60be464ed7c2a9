#include "cli/cli_pch.hpp"
#include "runtime/torch_pch.hpp"
