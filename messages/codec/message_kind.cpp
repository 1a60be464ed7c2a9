#include "messages/codec/message_kind.hpp"

namespace troupe {

std::string_view name_of(message_kind kind) noexcept {
  switch (kind) {
    case message_kind::activation:
      return "activation";
    case message_kind::credit:
      return "credit";
    case message_kind::end_of_call:
      return "end_of_call";
    case message_kind::stage_ready:
      return "stage_ready";
    case message_kind::begin_call:
      return "begin_call";
    case message_kind::end_call:
      return "end_call";
    case message_kind::cancel_call:
      return "cancel_call";
    case message_kind::low_water:
      return "low_water";
    case message_kind::stop_request:
      return "stop_request";
    case message_kind::stopped:
      return "stopped";
    case message_kind::call_progress:
      return "call_progress";
    case message_kind::score:
      return "score";
    case message_kind::score_batch:
      return "score_batch";
    case message_kind::failure:
      return "failure";
    case message_kind::error:
      return "error";
    case message_kind::worker_hello:
      return "worker_hello";
    case message_kind::worker_assignment:
      return "worker_assignment";
    case message_kind::wiring_order:
      return "wiring_order";
    case message_kind::edge_lost:
      return "edge_lost";
    case message_kind::edge_damaged:
      return "edge_damaged";
    case message_kind::call_opened:
      return "call_opened";
  }
  return "unknown";
}

std::optional<message_kind> kind_from(std::uint64_t number) noexcept {
  if (number > UINT8_MAX) return std::nullopt;
  const auto kind = static_cast<message_kind>(number);
  return name_of(kind) == "unknown" ? std::nullopt : std::optional(kind);
}

}  // namespace troupe
