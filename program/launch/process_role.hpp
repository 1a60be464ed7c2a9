#pragma once

namespace troupe {

/// Whether the run of this process has several nodes: of a driver that a launcher has started, of its try-out process,
/// and of its workers. They compare files by content then, as times of change differ from node to node.
[[nodiscard]] bool spans_nodes() noexcept;

}  // namespace troupe
