#pragma once

#include <functional>

#include "chaos_nodes.hpp"
#include "command.hpp"

namespace troupe::cli {

/// run_chaos_over(), or what takes its place.
using chaos_over_nodes = std::function<expected<exit_status>(const chaos_nodes& nodes, const arguments& given)>;

/// `troupe launch`; `run_chaos` is what it does where its command is the chaos of this program.
expected<exit_status> run_launch_command(const arguments& given, const chaos_over_nodes& run_chaos);

}  // namespace troupe::cli
