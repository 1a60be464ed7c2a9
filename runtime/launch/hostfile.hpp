#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A node of a launch and how many processes it takes. Slots count from 0.
struct launch_node {
  /// As read_node_name gives it.
  std::string name;
  /// At least 1.
  std::uint32_t slots = 1;
  friend bool operator==(const launch_node&, const launch_node&) = default;
};

/// Reads the hostfile of DeepSpeed and of Open MPI: one line "NAME slots=N" per node, in the order of ranks. A name
/// alone has one slot. Open MPI's max_slots=N (max-slots=N) beside slots is read and has no effect, since no more
/// processes than slots are ever started. '#' starts a comment; blank lines and a byte-order mark say nothing. Unlike
/// DeepSpeed, other words are errors. `file` is its name in messages.
///
/// Errors have the place "FILE:LINE:COLUMN", in bytes from 1, without the mark. E0402 for a bad line: slots twice, not
/// a number, max_slots alone, another word, a name that is none, a text of more than limits::hostfile_bytes_max. E0404
/// for what cannot be: a node twice, slots outside 1 to limits::node_slots_max, fewer max_slots than slots, more than
/// limits::launch_nodes_max nodes, or none.
expected<std::vector<launch_node>> parse_hostfile(std::string_view text, std::string_view file);

/// The same from a file, which may be a pipe. E0401 for one that cannot be read.
expected<std::vector<launch_node>> read_hostfile(const std::string& path);

}  // namespace troupe
