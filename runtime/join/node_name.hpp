#pragma once

#include <string_view>

namespace troupe {

/// Whether a text can name a node: a host name, a numeric address of IPv4 or IPv6, or what an orchestrator calls it.
/// 1 to limits::join_name_bytes_max letters, digits, '.', '-', '_' and ':' of ASCII, of which the first is no '-' and
/// no '.': no name is an option of another program, or a line of a log. Names are compared byte by byte.
/// Threads: pure.
[[nodiscard]] bool is_node_name(std::string_view text) noexcept;

}  // namespace troupe
