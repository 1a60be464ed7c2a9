#include "runtime/agent/agent_reports.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/process/error_line.hpp"

namespace troupe {
namespace {

constexpr std::uint32_t status_max = 255;

using ns = std::chrono::nanoseconds;

std::optional<std::uint64_t> number_of(const std::optional<ns>& time) {
  return time ? std::optional(static_cast<std::uint64_t>(std::max<ns::rep>(time->count(), 0))) : std::nullopt;
}

std::optional<ns> time_of(const std::optional<std::uint64_t>& number) {
  constexpr std::uint64_t longest = ns::max().count();
  return number ? std::optional(ns{static_cast<ns::rep>(std::min(*number, longest))}) : std::nullopt;
}

}  // namespace

worker_ended message_of(const exit_report& report, std::uint32_t rank) {
  std::vector<std::string> lines = report.kind == exit_kind::lost ? std::vector{report.note} : report.last_lines;
  if (report.told) lines.push_back(error_line(*report.told));
  return {.rank = rank,
          .pid = static_cast<std::uint32_t>(report.pid),
          .kind = static_cast<std::uint32_t>(report.kind),
          .value = static_cast<std::uint32_t>(report.value),
          .core_dumped = report.core_dumped ? 1u : 0u,
          .max_resident_bytes = report.max_resident_bytes,
          .last_lines = std::move(lines)};
}

expected<exit_report> report_of(const worker_ended& said) {
  constexpr auto pid_max = static_cast<std::uint32_t>(std::numeric_limits<pid_t>::max());
  if (said.kind > static_cast<std::uint32_t>(exit_kind::lost) || said.value > status_max || said.core_dumped > 1 ||
      said.pid > pid_max)
    return fail(error_code::wire_malformed, "worker_ended", "no process ends like that",
                "run the same version of Troupe everywhere");
  exit_report made;
  made.name = "worker " + std::to_string(said.rank);
  made.pid = static_cast<pid_t>(said.pid);
  made.kind = static_cast<exit_kind>(said.kind);
  made.value = static_cast<int>(said.value);
  made.core_dumped = said.core_dumped == 1;
  made.max_resident_bytes = said.max_resident_bytes;
  std::vector<std::string> lines = said.last_lines;
  if (!lines.empty()) made.told = error_in(lines.back());
  if (made.told) lines.pop_back();
  if (made.kind == exit_kind::lost) {
    made.note = lines.empty() ? "it could not be started" : std::move(lines.front());
  } else {
    made.last_lines = std::move(lines);
  }
  return made;
}

worker_telemetry message_of(const stage_telemetry& seen, std::uint32_t rank, ns now) {
  return {.rank = rank,
          .has_begun = seen.has_begun ? 1u : 0u,
          .working_on = seen.working_on,
          .since_ns = number_of(seen.since ? std::optional(now - *seen.since) : std::nullopt),
          .median_ns = number_of(seen.median),
          .micro_batches = seen.micro_batches,
          .samples = seen.samples,
          .forward_ns = seen.forward_ns,
          .busy_ns = seen.busy_ns,
          .arrived_bytes = seen.arrived_bytes,
          .faults = seen.faults};
}

stage_telemetry telemetry_of(const worker_telemetry& said, ns now) {
  const auto ago = time_of(said.since_ns);
  return {.has_begun = said.has_begun != 0,
          .working_on = said.working_on,
          .since = ago ? std::optional(now - std::min(*ago, now)) : std::nullopt,
          .median = time_of(said.median_ns),
          .micro_batches = said.micro_batches,
          .samples = said.samples,
          .forward_ns = said.forward_ns,
          .busy_ns = said.busy_ns,
          .arrived_bytes = said.arrived_bytes,
          .faults = said.faults};
}

}  // namespace troupe
