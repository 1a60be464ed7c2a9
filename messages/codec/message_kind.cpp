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
