#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/launch/hostfile.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Per slot of a node: does a text name it? Empty for a node that the text does not name.
using named_slots = std::vector<bool>;

/// Reads the text of --include or --exclude (node_filter.hpp), one entry per node of `nodes`, each of which has a slot.
/// `flag` is its name in messages. Errors: E0102 for an unknown node, E0103 for all else, with the place
/// "FLAG, character N".
expected<std::vector<named_slots>> read_filter(std::span<const launch_node> nodes, std::string_view flag,
                                               std::string_view text);

}  // namespace troupe
