#include "messages/codec/message_kind.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

using enum message_kind;

constexpr auto routes = std::to_array<message_route>({
    {stage_ready, "stage_ready", "stage", "director"},
    {open_call, "open_call", "director", "aggregator, stages, loader, in this order"},
    {release_call, "release_call", "director", "stages"},
    {cancel_call, "cancel_call", "director", "aggregator, loader, stages, in this order"},
    {stop_request, "stop_request", "director", "loader, stages"},
    {stopped, "stopped", "loader, stage", "director"},
    {score_batch, "score_batch", "last stage", "aggregator"},
    {failure, "failure", "loader, stage", "director"},
    {worker_hello, "worker_hello", "worker process", "driver"},
    {worker_assignment, "worker_assignment", "driver", "worker process"},
    {wiring_order, "wiring_order", "driver", "worker process"},
    {call_opened, "call_opened", "stage", "director"},
    {edge_lost, "edge_lost", "worker process", "director"},
    {edge_damaged, "edge_damaged", "worker process", "driver"},
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
