#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// Expands Slurm's list of nodes: "login1,gnode[08-11,20],rack[1-2]n[01-03]". A number has at least as many digits as
/// the first one of its range: 08, 09, 10, 11. The last bracket of a name varies fastest. `source` is the name of the
/// text in messages.
///
/// The number of names is known before any is made: at most limits::launch_nodes_max. Every name is one for
/// read_node_name, and none comes twice. E0103 for all else, with the place "SOURCE, character N".
expected<std::vector<std::string>> expand_node_list(std::string_view text, std::string_view source);

/// Expands Slurm's list of counts, one per node: "2(x3),1" is 2, 2, 2, 1. Each is 1 to limits::node_slots_max, and
/// there are at most limits::launch_nodes_max. E0103 for all else, with the place "SOURCE, character N".
expected<std::vector<std::uint32_t>> expand_counts(std::string_view text, std::string_view source);

}  // namespace troupe
