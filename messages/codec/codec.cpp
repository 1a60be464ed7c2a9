#include "messages/codec/codec.hpp"

#include "messages/codec/envelope.hpp"
#include "messages/codec/reader.hpp"
#include "messages/codec/schema.hpp"
#include "messages/codec/writer.hpp"
#include "messages/try.hpp"

namespace troupe::codec {

template <class Message>
expected<bytes> encode(const Message& message) {
  writer out;
  out.array(envelope_items);
  out.write(limits::wire_version);
  out.write(schema<Message>::kind);
  out.write(message);
  return std::move(out).finish(name_of(schema<Message>::kind));
}

template <class Message>
expected<Message> decode(std::span<const std::byte> input) {
  const auto opened = TROUPE_TRY(open_envelope(input));
  constexpr message_kind wanted = schema<Message>::kind;
  if (opened.kind != wanted) {
    return fail_at(
        error_code::wire_unknown_kind, opened.kind_at,
        "expected the message " + std::string(name_of(wanted)) + ", found " + std::string(name_of(opened.kind)));
  }
  reader in(input, opened.body);
  Message message;
  in.read(message);
  if (in.problem()) return tl::make_unexpected(*in.problem());
  return message;
}

expected<message_kind> kind_of(std::span<const std::byte> input) {
  return open_envelope(input).map([](const envelope& opened) { return opened.kind; });
}

// clang-format off
#define TROUPE_CODEC(type) \
  template expected<bytes> encode(const type&); \
  template expected<type> decode(std::span<const std::byte>)
// clang-format on
TROUPE_CODEC(stage_ready);
TROUPE_CODEC(open_call);
TROUPE_CODEC(release_call);
TROUPE_CODEC(cancel_call);
TROUPE_CODEC(stop_request);
TROUPE_CODEC(stopped);
TROUPE_CODEC(score_batch);
TROUPE_CODEC(failure);
TROUPE_CODEC(worker_hello);
TROUPE_CODEC(worker_assignment);
TROUPE_CODEC(wiring_order);
TROUPE_CODEC(call_opened);
TROUPE_CODEC(step_vote);
TROUPE_CODEC(step_decision);
TROUPE_CODEC(edge_lost);
TROUPE_CODEC(edge_damaged);
TROUPE_CODEC(agent_setup);
TROUPE_CODEC(agent_ready);
TROUPE_CODEC(agent_refusal);
TROUPE_CODEC(start_worker);
TROUPE_CODEC(worker_started);
TROUPE_CODEC(worker_message);
TROUPE_CODEC(blob_part);
TROUPE_CODEC(hand_over_blobs);
TROUPE_CODEC(drop_blob);
TROUPE_CODEC(kill_worker);
TROUPE_CODEC(worker_link_lost);
TROUPE_CODEC(agent_log);
TROUPE_CODEC(worker_ended);
TROUPE_CODEC(worker_telemetry);
TROUPE_CODEC(stop_workers);
TROUPE_CODEC(workers_stopped);
TROUPE_CODEC(end_asked);
TROUPE_CODEC(ask_telemetry);
TROUPE_CODEC(telemetry_told);
TROUPE_CODEC(check_file);
TROUPE_CODEC(file_answer);
TROUPE_CODEC(file_part);
TROUPE_CODEC(blob_part_taken);
TROUPE_CODEC(read_blob);
TROUPE_CODEC(blob_read);
TROUPE_CODEC(numbered_message);
TROUPE_CODEC(signal_worker);
TROUPE_CODEC(apply_fault);
TROUPE_CODEC(run_begun);
#undef TROUPE_CODEC

}  // namespace troupe::codec
