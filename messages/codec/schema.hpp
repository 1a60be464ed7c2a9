#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

#include "messages/codec/codec.hpp"
#include "messages/limits.hpp"

/// Which fields of each message travel between processes, and in which order. Encoding and decoding share this list.
/// From the first release on, each change here raises limits::wire_version.
namespace troupe::codec {

template <class T>
struct schema {};

/// Travels as an array of its fields.
template <class T>
concept record = requires {
  schema<T>::fields;
};

/// A record that travels on its own, in an envelope (codec.hpp); other records are fields of messages.
template <class T>
concept message = record<T> && requires {
  schema<T>::kind;
};

template <record T>
inline constexpr std::size_t arity = std::tuple_size_v<decltype(schema<T>::fields)>;

template <auto... Members>
struct fields_of {
  static constexpr std::tuple fields{Members...};
};

template <message_kind Kind, auto... Members>
struct message_of : fields_of<Members...> {
  static constexpr message_kind kind = Kind;
};

// clang-format off
template <> struct schema<micro_batch_id> : fields_of<&micro_batch_id::call, &micro_batch_id::index> {};
template <> struct schema<stage_address> : fields_of<&stage_address::stage, &stage_address::replica> {};

template <> struct schema<stage_ready> : message_of<message_kind::stage_ready,
    &stage_ready::address, &stage_ready::incarnation> {};
template <> struct schema<scoring> : fields_of<&scoring::content, &scoring::classes, &scoring::metrics> {};
template <> struct schema<open_call> : message_of<message_kind::open_call,
    &open_call::call, &open_call::first, &open_call::scores, &open_call::trains> {};
template <> struct schema<release_call> : message_of<message_kind::release_call, &release_call::call> {};
template <> struct schema<cancel_call> : message_of<message_kind::cancel_call, &cancel_call::call, &cancel_call::cause> {};
template <> struct schema<stop_request> : message_of<message_kind::stop_request, &stop_request::mode> {};
template <> struct schema<stopped> : message_of<message_kind::stopped,
    &stopped::address, &stopped::incarnation, &stopped::micro_batches, &stopped::forward_nanoseconds> {};
template <> struct schema<score> : fields_of<
    &score::id, &score::sink, &score::sender_incarnation, &score::samples, &score::words> {};
template <> struct schema<score_batch> : message_of<message_kind::score_batch, &score_batch::scores> {};
template <> struct schema<failure> : message_of<message_kind::failure,
    &failure::address, &failure::incarnation, &failure::stage_name, &failure::micro_batch, &failure::cause,
    &failure::attempts> {};
template <> struct schema<edge_contact> : fields_of<
    &edge_contact::node, &edge_contact::address, &edge_contact::number> {};
template <> struct schema<worker_hello> : message_of<message_kind::worker_hello,
    &worker_hello::pid, &worker_hello::edge_contact> {};
template <> struct schema<assigned_fault> : fields_of<&assigned_fault::number, &assigned_fault::text> {};
template <> struct schema<tied_stages> : fields_of<&tied_stages::one, &tied_stages::other> {};
template <> struct schema<worker_assignment> : message_of<message_kind::worker_assignment,
    &worker_assignment::address, &worker_assignment::incarnation, &worker_assignment::fingerprint,
    &worker_assignment::prefetch_slots, &worker_assignment::stage_slots, &worker_assignment::threads,
    &worker_assignment::boundaries, &worker_assignment::runs_plain, &worker_assignment::inputs,
    &worker_assignment::loader_pages, &worker_assignment::warm_up_bytes, &worker_assignment::has_state,
    &worker_assignment::ties, &worker_assignment::faults> {};
template <> struct schema<run_begun> : message_of<message_kind::run_begun, &run_begun::age_ns> {};
template <> struct schema<offered_edge> : fields_of<&offered_edge::channel, &offered_edge::blobs, &offered_edge::words> {};
template <> struct schema<wiring_order> : message_of<message_kind::wiring_order,
    &wiring_order::epoch, &wiring_order::from, &wiring_order::present, &wiring_order::edge_contacts,
    &wiring_order::offers> {};
template <> struct schema<edge_lost> : message_of<message_kind::edge_lost, &edge_lost::epoch, &edge_lost::cause> {};
template <> struct schema<edge_damaged> : message_of<message_kind::edge_damaged,
    &edge_damaged::epoch, &edge_damaged::channel, &edge_damaged::cause> {};
template <> struct schema<call_opened> : message_of<message_kind::call_opened, &call_opened::call> {};
template <> struct schema<named_value> : fields_of<&named_value::name, &named_value::value> {};
template <> struct schema<blob_reference> : fields_of<&blob_reference::blob, &blob_reference::page_of> {};
template <> struct schema<agent_setup> : message_of<message_kind::agent_setup,
    &agent_setup::program, &agent_setup::program_hash, &agent_setup::directory, &agent_setup::arguments,
    &agent_setup::environment, &agent_setup::slots, &agent_setup::first_rank, &agent_setup::world_size, &agent_setup::bind_cores> {};
template <> struct schema<agent_ready> : message_of<message_kind::agent_ready, &agent_ready::pid> {};
template <> struct schema<agent_refusal> : message_of<message_kind::agent_refusal, &agent_refusal::cause> {};
template <> struct schema<start_worker> : message_of<message_kind::start_worker,
    &start_worker::rank, &start_worker::silence_ms, &start_worker::has_control_faults> {};
template <> struct schema<worker_started> : message_of<message_kind::worker_started,
    &worker_started::rank, &worker_started::pid> {};
template <> struct schema<worker_message> : message_of<message_kind::worker_message,
    &worker_message::rank, &worker_message::message> {};
template <> struct schema<blob_part> : message_of<message_kind::blob_part,
    &blob_part::blob, &blob_part::size, &blob_part::offset, &blob_part::content> {};
template <> struct schema<hand_over_blobs> : message_of<message_kind::hand_over_blobs,
    &hand_over_blobs::rank, &hand_over_blobs::name, &hand_over_blobs::blobs> {};
template <> struct schema<drop_blob> : message_of<message_kind::drop_blob, &drop_blob::blob> {};
template <> struct schema<kill_worker> : message_of<message_kind::kill_worker, &kill_worker::rank> {};
template <> struct schema<worker_link_lost> : message_of<message_kind::worker_link_lost, &worker_link_lost::rank> {};
template <> struct schema<agent_log> : message_of<message_kind::agent_log,
    &agent_log::rank, &agent_log::level, &agent_log::text> {};
template <> struct schema<worker_ended> : message_of<message_kind::worker_ended,
    &worker_ended::rank, &worker_ended::pid, &worker_ended::kind, &worker_ended::value, &worker_ended::core_dumped,
    &worker_ended::max_resident_bytes, &worker_ended::last_lines> {};
template <> struct schema<worker_telemetry> : message_of<message_kind::worker_telemetry,
    &worker_telemetry::rank, &worker_telemetry::has_begun, &worker_telemetry::working_on, &worker_telemetry::since_ns,
    &worker_telemetry::median_ns, &worker_telemetry::micro_batches, &worker_telemetry::samples,
    &worker_telemetry::forward_ns, &worker_telemetry::busy_ns, &worker_telemetry::arrived_bytes,
    &worker_telemetry::faults> {};
template <> struct schema<stop_workers> : message_of<message_kind::stop_workers, &stop_workers::grace_ms> {};
template <> struct schema<workers_stopped> : message_of<message_kind::workers_stopped, &workers_stopped::all_ended> {};
template <> struct schema<ask_telemetry> : message_of<message_kind::ask_telemetry, &ask_telemetry::question> {};
template <> struct schema<telemetry_told> : message_of<message_kind::telemetry_told, &telemetry_told::question> {};
template <> struct schema<file_identity> : fields_of<&file_identity::path, &file_identity::hash, &file_identity::size> {};
template <> struct schema<check_file> : message_of<message_kind::check_file, &check_file::number, &check_file::file> {};
template <> struct schema<file_answer> : message_of<message_kind::file_answer,
    &file_answer::number, &file_answer::state, &file_answer::bytes> {};
template <> struct schema<file_part> : message_of<message_kind::file_part,
    &file_part::number, &file_part::offset, &file_part::content> {};
template <> struct schema<blob_part_taken> : message_of<message_kind::blob_part_taken, &blob_part_taken::bytes> {};
template <> struct schema<read_blob> : message_of<message_kind::read_blob,
    &read_blob::question, &read_blob::blob, &read_blob::offset, &read_blob::bytes> {};
template <> struct schema<blob_read> : message_of<message_kind::blob_read, &blob_read::question, &blob_read::content> {};
template <> struct schema<numbered_message> : message_of<message_kind::numbered_message,
    &numbered_message::number, &numbered_message::heard, &numbered_message::message> {};
template <> struct schema<signal_worker> : message_of<message_kind::signal_worker,
    &signal_worker::rank, &signal_worker::number> {};
template <> struct schema<apply_fault> : message_of<message_kind::apply_fault,
    &apply_fault::fault, &apply_fault::with_workers, &apply_fault::lasts_ms> {};
template <> struct schema<end_asked> : message_of<message_kind::end_asked, &end_asked::signal> {};
template <> struct schema<step_vote> : message_of<message_kind::step_vote,
    &step_vote::address, &step_vote::incarnation, &step_vote::epoch, &step_vote::call, &step_vote::micro_batches,
    &step_vote::weight,
    &step_vote::squared_norms, &step_vote::state_hash, &step_vote::not_finite> {};
template <> struct schema<step_decision> : message_of<message_kind::step_decision,
    &step_decision::call, &step_decision::step, &step_decision::is_applied, &step_decision::gradient_scale,
    &step_decision::learning_rate> {};
template <> struct schema<error> : fields_of<&error::code, &error::where, &error::cause, &error::fix> {};
// clang-format on

/// How many items a list may have, by the type of its items. `std::uint64_t`: score::words is the longest such list.
template <class Item>
inline constexpr std::size_t items_max = limits::wire_array_items_max;
template <>
inline constexpr std::size_t items_max<std::uint64_t> = limits::score_words_max;
template <>
inline constexpr std::size_t items_max<score> = limits::scores_per_message_max;

/// Why a value is refused although each of its fields is valid; empty if it is not.
template <class T>
std::string_view objection(const T&) {
  return {};
}
inline std::string_view objection(const wiring_order& order) {
  return order.present.size() != order.edge_contacts.size() ? "present and edge_contacts differ in length"
                                                            : std::string_view{};
}

}  // namespace troupe::codec
