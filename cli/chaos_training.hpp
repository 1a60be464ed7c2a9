#pragma once

#include "chaos_nodes.hpp"
#include "command.hpp"

namespace troupe::cli {

/// `troupe chaos --train`: trains with the flags of `troupe train`, undisturbed and under faults. `given`: the words
/// behind "chaos". E0104 over nodes.
[[nodiscard]] expected<exit_status> run_chaos_of_training(const chaos_nodes* nodes, const arguments& given);

}  // namespace troupe::cli
