#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace troupe {

/// What an envelope carries between processes. Numbers are part of the wire format: never changed, never used again
/// (1 to 3, 20, 23, 24 and 27 are used up). Edges have kinds of their own (runtime/edge/tcp/frame.hpp).
enum class message_kind : std::uint8_t {
  stage_ready = 16,
  open_call = 17,
  release_call = 18,
  cancel_call = 19,
  stop_request = 21,
  stopped = 22,
  score_batch = 25,
  failure = 26,
  worker_hello = 28,
  worker_assignment = 29,
  wiring_order = 30,
  call_opened = 31,
  edge_lost = 32,
  edge_damaged = 33,
  agent_setup = 34,
  agent_ready = 35,
  agent_refusal = 36,
  start_worker = 37,
  worker_started = 38,
  worker_message = 39,
  blob_part = 40,
  hand_over_blobs = 41,
  drop_blob = 42,
  kill_worker = 43,
  worker_link_lost = 44,
  agent_log = 45,
  worker_ended = 46,
  worker_telemetry = 47,
  stop_workers = 48,
  workers_stopped = 49,
  ask_telemetry = 50,
  telemetry_told = 51,
  check_file = 52,
  file_answer = 53,
  file_part = 54,
  blob_part_taken = 55,
  numbered_message = 56,
  signal_worker = 57,
  apply_fault = 58,
  run_begun = 59,
  end_asked = 60,
  step_vote = 61,
  step_decision = 62,
  read_blob = 63,
  blob_read = 64,
};

/// One row of the protocol: the one place that says who sends a message to whom. docs/messages.md has the same rows.
struct message_route {
  message_kind kind;
  std::string_view name;
  std::string_view from;
  std::string_view to;
};

/// Every kind once, in the order of their numbers.
std::span<const message_route> message_routes() noexcept;

/// The enumerator's name; "unknown" for any other number.
std::string_view name_of(message_kind kind) noexcept;
/// Nothing if no kind has this number.
std::optional<message_kind> kind_from(std::uint64_t number) noexcept;

}  // namespace troupe
