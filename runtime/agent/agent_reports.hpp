#pragma once

#include <chrono>
#include <cstdint>

#include "messages/agent.hpp"
#include "messages/stage_telemetry.hpp"
#include "runtime/process/exit_report.hpp"

/// The two values of a worker host that travel between an agent and its driver, as messages and back. Threads: pure.
namespace troupe {

/// What a worker told is the last line of the message (error_line.hpp).
[[nodiscard]] worker_ended message_of(const exit_report& report, std::uint32_t rank);
/// E0702 for a kind, a status or a number that no process has.
[[nodiscard]] expected<exit_report> report_of(const worker_ended& said);

/// Clocks of two nodes have nothing in common: the message says how long ago the forward began, by `now` of its node.
[[nodiscard]] worker_telemetry message_of(const stage_telemetry& seen, std::uint32_t rank,
                                          std::chrono::nanoseconds now);
[[nodiscard]] stage_telemetry telemetry_of(const worker_telemetry& said, std::chrono::nanoseconds now);

}  // namespace troupe
