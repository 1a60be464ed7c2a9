#include "messages/codec/message_kind.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

constexpr auto routes = std::to_array<message_route>({
    {message_kind::stage_ready, "stage_ready", "stage", "director"},
    {message_kind::open_call, "open_call", "director", "aggregator, stages, loader, in this order"},
    {message_kind::release_call, "release_call", "director", "stages"},
    {message_kind::cancel_call, "cancel_call", "director", "aggregator, loader, stages, in this order"},
    {message_kind::stop_request, "stop_request", "director", "loader, stages"},
    {message_kind::stopped, "stopped", "loader, stage", "director"},
    {message_kind::score_batch, "score_batch", "last stage", "aggregator"},
    {message_kind::failure, "failure", "loader, stage", "director"},
    {message_kind::worker_hello, "worker_hello", "worker process", "driver"},
    {message_kind::worker_assignment, "worker_assignment", "driver", "worker process"},
    {message_kind::wiring_order, "wiring_order", "driver", "worker process"},
    {message_kind::call_opened, "call_opened", "stage", "director"},
    {message_kind::edge_lost, "edge_lost", "worker process", "director"},
    {message_kind::edge_damaged, "edge_damaged", "worker process", "driver"},
    {message_kind::agent_setup, "agent_setup", "driver", "agent"},
    {message_kind::agent_ready, "agent_ready", "agent", "driver"},
    {message_kind::agent_refusal, "agent_refusal", "agent", "driver"},
    {message_kind::start_worker, "start_worker", "driver", "agent"},
    {message_kind::worker_started, "worker_started", "agent", "driver"},
    {message_kind::worker_message, "worker_message", "driver, agent", "agent, driver"},
    {message_kind::blob_part, "blob_part", "driver", "agent"},
    {message_kind::hand_over_blobs, "hand_over_blobs", "driver", "agent"},
    {message_kind::drop_blob, "drop_blob", "driver", "agent"},
    {message_kind::kill_worker, "kill_worker", "driver", "agent"},
    {message_kind::worker_link_lost, "worker_link_lost", "agent", "driver"},
    {message_kind::agent_log, "agent_log", "agent", "driver"},
    {message_kind::worker_ended, "worker_ended", "agent", "driver"},
    {message_kind::worker_telemetry, "worker_telemetry", "agent", "driver"},
    {message_kind::stop_workers, "stop_workers", "driver", "agent"},
    {message_kind::workers_stopped, "workers_stopped", "agent", "driver"},
    {message_kind::ask_telemetry, "ask_telemetry", "driver", "agent"},
    {message_kind::telemetry_told, "telemetry_told", "agent", "driver"},
    {message_kind::check_file, "check_file", "driver", "agent"},
    {message_kind::file_answer, "file_answer", "agent", "driver"},
    {message_kind::file_part, "file_part", "driver", "agent"},
    {message_kind::blob_part_taken, "blob_part_taken", "agent", "driver"},
    {message_kind::numbered_message, "numbered_message", "driver, worker process", "worker process, driver"},
    {message_kind::signal_worker, "signal_worker", "driver", "agent"},
    {message_kind::apply_fault, "apply_fault", "driver", "agent"},
    {message_kind::run_begun, "run_begun", "driver", "worker process"},
    {message_kind::end_asked, "end_asked", "agent", "driver"},
    {message_kind::step_vote, "step_vote", "stage", "director"},
    {message_kind::step_decision, "step_decision", "director", "stages"},
    {message_kind::read_blob, "read_blob", "driver", "agent"},
    {message_kind::blob_read, "blob_read", "agent", "driver"},
});

const message_route* find(std::uint64_t number) noexcept {
  const auto found = std::ranges::find(routes, number,
                                       [](const message_route& each) { return static_cast<std::uint64_t>(each.kind); });
  return found == routes.end() ? nullptr : found;
}

}  // namespace

std::span<const message_route> message_routes() noexcept {
  return routes;
}

std::string_view name_of(message_kind kind) noexcept {
  const message_route* found = find(static_cast<std::uint64_t>(kind));
  return found ? found->name : "unknown";
}

std::optional<message_kind> kind_from(std::uint64_t number) noexcept {
  const message_route* found = find(number);
  return found ? std::optional(found->kind) : std::nullopt;
}

}  // namespace troupe
