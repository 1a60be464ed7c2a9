#pragma once

#include <cstddef>
#include <optional>

#include <troupe/fault_plan.hpp>

namespace troupe {

/// The stage that a fault names, by name or number; nothing if there is none.
std::optional<std::size_t> find_stage(const fault_shape& shape, const std::string& name);

/// It happens in the work of a stage, which injects it into itself (runtime/inject/faulty_body.hpp).
[[nodiscard]] bool is_of_body(const fault& one);
/// It is of messages between stages, or of the driver and a stage.
[[nodiscard]] bool is_of_messages(const fault& one);
/// It is injected once in a run.
[[nodiscard]] bool is_once(const fault& one);

/// Messages of an edge suffer it, in the process of the edge's consumer (runtime/inject/faulty_transport.hpp).
[[nodiscard]] bool has_edge_faults(const fault_plan& plan);
/// Each replica of the consumer counts its own messages: the third one of an edge is that of the first replica.
[[nodiscard]] bool is_of_first_replica(const fault& one);
/// Bytes of an edge change or are missing: its payloads need checksums.
[[nodiscard]] bool corrupts_edges(const fault_plan& plan);

/// What it does to messages costs new edges: damage, silence, or the loss of an edge's message.
[[nodiscard]] bool breaks_messages(const fault& one);

/// The fault needs a process of its target's own: its end, or its freeze, must not be that of the run.
[[nodiscard]] bool needs_process(const fault& one);

}  // namespace troupe
