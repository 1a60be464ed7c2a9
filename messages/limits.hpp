#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "messages/ipc_limits.hpp"
#include "messages/nccl_limits.hpp"
#include "messages/training_limits.hpp"
#include "messages/wire_limits.hpp"
#include <troupe/limits.hpp>

/// Every limit of a queue, a wait, a count or a size: here, and in the headers that this one includes. Derived ones are
/// checked at compile time.
namespace troupe::limits {

using namespace std::chrono_literals;
// --- what a user may ask for -----------------------------------------------------------------------------------------
inline constexpr std::uint64_t schedule_cells_max = 1u << 22;
/// Runs of one `troupe simulate`, whose report is kept until the last one has ended.
inline constexpr std::uint64_t simulated_seeds_max = 1'000'000;
/// A year: far beyond any run, and far below what a steady clock can count.
inline constexpr double deadline_seconds_max = 366.0 * 24 * 3600;
inline constexpr double deadline_seconds_min = 0.001;
/// Least --worker-timeout and --start-deadline, in seconds: four heartbeats, and the start of a small stage on a busy
/// machine.
inline constexpr double worker_timeout_min = 1;
inline constexpr std::size_t config_bytes_max = 64u << 10;
/// A TOML file: dots of one key or table header; nested arrays and inline tables. Options need none. The parser
/// recurses once per level.
inline constexpr std::size_t config_key_dots_max = 16;
inline constexpr std::size_t config_nesting_max = 16;
// --- in flight -------------------------------------------------------------------------------------------------------
/// Slots of the edge from the loader to a first stage: deeper than pipe_buffers_default, so that decoding and waking
/// the loader stay off the critical path of small micro-batches.
inline constexpr std::uint32_t prefetch_slots = 128;
/// Most bytes in those slots, unless the pipe buffers alone hold more.
inline constexpr std::uint64_t prefetch_bytes = 4u << 20;
/// The same two for an edge between stages: deep enough for a stage to continue while the next one is off its core,
/// small enough for waiting activations to stay in the cache.
inline constexpr std::uint32_t stage_edge_slots = 32;
inline constexpr std::uint64_t stage_edge_bytes = 256u << 10;
/// Most scores in one message; fewer at the end of a call or after the delays below. A message between processes costs
/// some 0.2 ms of a core, nearly independent of its size.
inline constexpr std::uint32_t scores_per_message_max = 512;
/// Most words of all scores in a message, unless a single score has more.
inline constexpr std::size_t score_words_per_message = 1u << 18;
/// Time for which a stage holds scores: the least after a new wiring, so that first results are seen at once; then
/// twice as long from message to message, up to the greatest.
inline constexpr std::chrono::nanoseconds score_delay_min = 1ms;
inline constexpr std::chrono::nanoseconds score_delay_max = 64ms;
/// The loader runs ahead of the low-water mark by all buffers of all replicas, plus this many micro-batches: one batch
/// of scores that wait on a stage, and one that the aggregator folds meanwhile.
inline constexpr std::uint32_t replay_window_slack = 2 * scores_per_message_max;
/// Most bytes of the window, unless the least buffers alone hold more: a frozen replica stops the low-water mark while
/// others continue. No loader reads as much within score_delay_max, so held scores do not stop it.
inline constexpr std::uint64_t window_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint32_t commands_queued_max = 4096;
inline constexpr std::uint32_t trace_events_max = 1u << 22;
inline constexpr std::size_t log_lines_max = 1024;
/// From a line of the log on, equal ones are only counted for this time.
inline constexpr std::chrono::seconds log_repeat_interval = 10s;
/// Different lines among which equal ones are looked for.
inline constexpr std::size_t log_repeats_kept = 128;
/// Refused connections that have a line each, per interval; the others are counted.
inline constexpr std::size_t refusals_told_max = 8;
// --- supervision -----------------------------------------------------------------------------------------------------
/// Deaths of one stage without the low-water mark moving in between.
inline constexpr std::uint32_t deaths_without_progress_max = 3;
/// Deaths of one stage within death_window, with or without progress.
inline constexpr std::uint32_t deaths_in_window_max = 20;
inline constexpr std::chrono::seconds death_window = 60s;
/// From the report of a silent edge until new edges are made for it. The usual cause is the death of a process, which
/// is reported within this time and also leads to new edges.
inline constexpr std::chrono::milliseconds edge_loss_patience = 300ms;
/// Time without progress after which sent micro-batches count as lost. With workers: their time-out plus the margin, so
/// that a silent worker is ended first.
inline constexpr std::chrono::seconds lost_work_time = 30s;
inline constexpr std::chrono::seconds lost_work_margin = 5s;
/// A forward is reported as stalled after this multiple of the median of earlier forwards.
inline constexpr std::uint32_t stall_factor = 10;
/// The median covers the last stall_forwards_kept forwards and needs stall_forwards_min. No stall is shorter than
/// stall_time_min.
inline constexpr std::size_t stall_forwards_kept = 64;
inline constexpr std::uint64_t stall_forwards_min = 8;
inline constexpr std::chrono::seconds stall_time_min = 1s;

/// Micro-batches of a stage on a device: one that it computes, and those behind it.
inline constexpr std::size_t forwards_in_flight_max = 4;
// --- waits -----------------------------------------------------------------------------------------------------------
/// A parked engine looks for work at least this often, also without a ring.
inline constexpr std::chrono::milliseconds park_max = 100ms;
/// The same while a device, which rings no bell, is at work for it.
inline constexpr std::chrono::microseconds device_poll_pause = 50us;
/// The first forward on a device, before a run; it loads kernels.
inline constexpr std::chrono::seconds first_device_forward_max = 300s;
/// Longer than a preemption by the loader or an actor, because a parked stage costs a wake-up through the kernel and
/// may move to its neighbour's core. A spinning engine yields its core, so spinning also helps with more stages than
/// cores; not where the thread of an edge needs that core, as with tcp, whose stages park at once.
inline constexpr std::chrono::nanoseconds spin_budget = 500us;
inline constexpr std::chrono::seconds control_request_timeout = 30s;
/// With workers: added to the time-out of a silent worker, so that the news of its end arrives first.
inline constexpr std::chrono::seconds control_request_margin = 10s;
/// Attempts at an acknowledgement: the first time-out may have passed while this process was frozen.
inline constexpr std::uint32_t control_request_attempts = 2;
/// Number of timers of one wait for a worker. After a freeze of this process one late timer ends one slice only.
inline constexpr std::uint32_t wait_slices = 10;
/// A run is inspected every report_interval. A longer pause than this means that this process was frozen.
inline constexpr std::chrono::milliseconds look_pause_max = 1s;
/// In place of limits::stop_timeout, where a deadline or a user asked for the end and nothing in the pipe is needed.
inline constexpr std::chrono::seconds stop_timeout_in_a_hurry = 2s;
/// Forwards of a shape before it is recorded as a graph of its device: LibTorch makes its plans and workspaces in them.
inline constexpr std::uint32_t graph_warm_ups = 2;
/// Shapes that one stage records; each has inputs, outputs and scratch memory of its own. Others run unrecorded.
inline constexpr std::size_t graph_shapes_max = 8;
/// Most samples of the warm-up micro-batch.
inline constexpr std::int64_t warm_up_samples_max = 64;
/// Most samples on which optimized layers are compared with plain ones, and each with itself: more than one, as a fault
/// may need several rows; few, as each layer runs three times.
inline constexpr std::int64_t compared_samples_max = 8;
/// Layers that the log names, of those that run as they stand.
inline constexpr std::size_t layer_notes_max = 16;
inline constexpr std::chrono::milliseconds report_interval = 100ms;
/// From the stop request to a preparation until its thread is abandoned. It checks for a stop between layers and
/// rounds.
inline constexpr std::chrono::milliseconds preparation_stop_time = 1s;
/// Wait for a stderr that accepts nothing; then its text is dropped.
inline constexpr std::chrono::milliseconds stderr_patience = 1s;
// --- faults that a plan injects --------------------------------------------------------------------------------------
/// What waits for an injected silence to end looks again so often.
inline constexpr std::chrono::milliseconds fault_look_interval = 20ms;
/// A fault at a time whose process is not there waits for another one for so long.
inline constexpr std::chrono::milliseconds fault_target_patience = 30s;
/// Messages that an injected delay holds back on one edge or link; further ones pass at once.
inline constexpr std::size_t fault_messages_max = 1024;
/// A message that was to arrive behind the next one arrives without one after this time.
inline constexpr std::chrono::milliseconds fault_reorder_time = 100ms;
/// A freeze or partition of an agent or node, which must end by itself.
inline constexpr std::chrono::seconds fault_of_node_time_max = 600s;
/// An undisturbed evaluation of `troupe chaos`, and a disturbed one: so many times that of the undisturbed one, and
/// so much for waits on its way, such as those for silent workers.
inline constexpr std::chrono::hours chaos_undisturbed_time = 24h;
inline constexpr double chaos_time_factor = 10;
inline constexpr std::chrono::minutes chaos_time_extra = 5min;
/// The size of a result.json.
inline constexpr std::size_t chaos_result_bytes_max = 256u << 20;
// --- data ------------------------------------------------------------------------------------------------------------
/// Payloads start at a multiple of this, because alignment changes the bits of some kernels. LibTorch allocates
/// with 64.
inline constexpr std::size_t payload_alignment = 64;
/// Bytes of one message on a shared-memory edge: rows, tensors and labels. Far above any micro-batch; bounds the
/// memory that a damaged peer can make the other end map.
inline constexpr std::uint64_t shm_slot_bytes_max = std::uint64_t{16} << 30;
/// Least extent of a slot; extents are powers of two and multiples of every page size of Linux. Only written pages take
/// memory.
inline constexpr std::uint64_t shm_extent_bytes_min = 64u << 10;
/// Size of a decoded block: the first of the two limits that is reached. So a micro-batch of one sample costs no
/// decoder call.
inline constexpr std::uint64_t decode_block_samples = 256;
inline constexpr std::uint64_t decode_block_bytes = 1u << 20;
/// Unpacked size of a gzip file, which is kept in memory. Unpack a larger file on disk; it is then read in blocks.
inline constexpr std::uint64_t gzip_unpacked_bytes_max = std::uint64_t{4} << 30;
/// Packed bytes in memory at a time.
inline constexpr std::size_t gzip_packed_block_bytes = 256u << 10;
inline constexpr std::size_t npy_header_bytes_max = 64u << 10;
inline constexpr std::size_t npy_dimensions_max = 32;
// --- models ----------------------------------------------------------------------------------------------------------
/// Directory of a model file. LibTorch's files need some 100 bytes per tensor.
inline constexpr std::uint64_t model_directory_bytes_max = 64u << 20;
/// Block size for the checksums of a model file.
inline constexpr std::size_t model_read_bytes = 1u << 20;
/// Unpacked bytes of all packed entries of a model file: code and line numbers; weights are not packed.
inline constexpr std::uint64_t model_unpacked_bytes_max = 256u << 20;
/// One entry with code or pickled objects, which is read into memory.
inline constexpr std::uint64_t model_text_bytes_max = 256u << 20;
/// Nested objects, such as modules; an export has some tens.
inline constexpr std::size_t model_object_depth_max = 500;
/// Nested operations and blocks; an export has some tens.
inline constexpr std::size_t model_expression_depth_max = 500;
/// Passes of `profile` before it measures: they specialise the code and fill the caches.
inline constexpr std::uint32_t profile_warm_up_passes = 3;
/// Least and most measured passes within profile_budget.
inline constexpr std::uint32_t profile_passes_min = 5;
inline constexpr std::uint32_t profile_passes_max = 101;
inline constexpr std::chrono::milliseconds profile_budget = 2000ms;
/// The same for `auto`, which comes before every run that does not say how it is cut.
inline constexpr std::chrono::milliseconds automatic_profile_budget = 300ms;
// --- worker processes ------------------------------------------------------------------------------------------------
/// Try-out processes, one after another, while each is killed from outside.
inline constexpr std::uint32_t probe_attempts_max = 3;
/// Time until a try-out process reaches its first step, in addition to the start deadline of its stages.
inline constexpr std::chrono::milliseconds probe_start_time = 20s;
/// The report of a try-out process: text, and total. Larger warm-up inputs are left out.
inline constexpr std::uint64_t probe_text_bytes_max = 16u << 20;
inline constexpr std::uint64_t probe_report_bytes_max = std::uint64_t{1} << 30;
/// Name of the part under try-out, for the message about a crash.
inline constexpr std::size_t probe_place_bytes_max = 240;
/// Lines of a worker's standard error in the message about its end.
inline constexpr std::size_t worker_output_lines_kept = 20;
/// A longer line of output is cut.
inline constexpr std::size_t worker_output_line_bytes_max = 4096;
/// Bytes read from one worker's pipe per turn.
inline constexpr std::size_t worker_output_bytes_per_turn = 64u << 10;
/// From a worker's death until its output counts as complete, if a process that it started still holds the pipe.
inline constexpr std::chrono::milliseconds worker_output_drain_time = 500ms;
/// From the request until the worker's program runs, including loads from a slow disk.
inline constexpr std::chrono::seconds worker_start_timeout = 30s;
/// From SIGTERM to SIGKILL.
inline constexpr std::chrono::milliseconds worker_stop_grace = 5s;
/// From SIGKILL until the system has ended a process; longer only in an uninterruptible system call.
inline constexpr std::chrono::milliseconds worker_reap_time = 2s;
inline constexpr std::chrono::seconds worker_reap_time_at_exit = 20s;
/// Between two equal signals of one process that count as one interrupt.
inline constexpr std::chrono::milliseconds interrupt_repeat_time = 10ms;
/// Greatest number of an inherited descriptor of a worker.
inline constexpr int worker_inherited_fd_max = 63;
inline constexpr std::size_t worker_environment_bytes_max = 256;
inline constexpr std::size_t channel_tag_bytes_max = 256;
inline constexpr std::size_t channel_fds_max = 4;
/// Certificates and keys take a few hundred bytes each.
inline constexpr std::size_t memory_file_bytes_max = 1u << 20;
/// From the start of a worker's program until it has said hello.
inline constexpr std::chrono::seconds worker_hello_timeout = 60s;
/// After this long without a hello, but not before worker_silence_timeout, the pool starts another worker for the stage
/// that waits.
inline constexpr std::chrono::milliseconds worker_hello_patience = 5s;
/// Workers in a row that end by themselves before their hello; the next one would, too.
inline constexpr std::uint32_t worker_failed_starts_max = 3;
/// Workers killed from outside without any hello in between, per waiting stage.
inline constexpr std::uint32_t worker_starts_killed_max = 10;
/// Workers that end between their hello and the first step of becoming a stage: in a row for one stage; and without a
/// stage, replaced within death_window.
inline constexpr std::uint32_t workers_dead_when_given_max = 10;
inline constexpr std::uint32_t spares_lost_in_window_max = 20;
/// Spare workers, so that a replacement needs no program start.
inline constexpr std::uint32_t worker_spares = 1;
/// A worker without a stage after this time loads the whole model in advance. First workers have their stage by then.
inline constexpr std::chrono::milliseconds worker_idle_before_preparing = 100ms;
/// Size of a model file that spares load in advance.
inline constexpr std::uint64_t spare_model_bytes_max = 256u << 20;
/// Warm-up samples of a replacement, for which the whole pipeline waits.
inline constexpr std::int64_t warm_up_samples_of_replacement = 1;
/// Time (a) to send on a full channel, (b) for the descriptors that a control message announces to arrive; they were
/// sent before it.
inline constexpr std::chrono::milliseconds channel_timeout = 5s;
/// Validity of certificates before now, because clocks differ, and after now.
inline constexpr std::chrono::hours credentials_valid_before = 24h;
inline constexpr std::chrono::hours credentials_valid_after = 24h * 30;
/// Heartbeats of an idle end within the time-out, heartbeat_min to heartbeat_max apart.
inline constexpr std::int64_t heartbeats_per_timeout = 10;
inline constexpr std::chrono::milliseconds heartbeat_min = 250ms;
inline constexpr std::chrono::milliseconds heartbeat_max = 5s;
/// From the start of a worker until the first word on its link; a worker without it is ended before
/// (worker_hello_timeout).
inline constexpr std::chrono::milliseconds link_first_word_timeout = 120s;
/// In halves of a heartbeat: until a message to or from a worker whose receipt is not told is said again, each time;
/// and until the link counts as lost. The receipt is told within one of them.
inline constexpr std::uint64_t message_repeat_beats = 3;
inline constexpr std::uint64_t message_unheard_beats = 2 * heartbeats_per_timeout + 4;
/// The receipt of so many bytes is told at once.
inline constexpr std::size_t message_receipt_bytes = 1u << 20;
/// Messages that may wait for an earlier one which was lost.
inline constexpr std::uint64_t messages_ahead_max = 1u << 16;
/// Attempts of a node to make its link that the driver rejects by a word of TLS; a closed connection counts as none.
/// The pause before the next is so much longer each time.
inline constexpr std::uint32_t link_rejections_max = 5;
inline constexpr std::chrono::milliseconds link_dial_pause = 100ms;
/// Bytes of messages that wait at one end of a link; with more the other end counts as lost.
inline constexpr std::size_t link_bytes_queued_max = std::size_t{256} << 20;
// --- agents of other nodes -------------------------------------------------------------------------------------------
/// Blobs of a driver that one agent keeps: two for each edge of a node, of the last two epochs, and warm-up inputs.
inline constexpr std::size_t agent_blobs_max = 1u << 17;
/// Bytes of a blob in one message; and of all that were sent and that the agent has not put in their place.
inline constexpr std::size_t blob_part_bytes = 1u << 20;
inline constexpr std::size_t blob_bytes_on_way_max = 16u << 20;
/// Wait for the counters of other nodes' stages at the end of a call.
inline constexpr std::chrono::milliseconds telemetry_wait_max = 1s;
/// Time without any progress after which a node takes no blobs; an agent waits channel_timeout for a frozen worker.
inline constexpr std::chrono::milliseconds blob_stall_max = 30s;
/// Model files of one run, and bytes of one of them, that an agent looks at or gets from its driver.
inline constexpr std::size_t node_files_max = 512;
inline constexpr std::uint64_t node_file_bytes_max = std::uint64_t{1} << 40;
/// Bytes of a file that an agent has been sent and has not written yet.
inline constexpr std::uint64_t file_bytes_ahead_max = 16u << 20;
/// Bytes that an agent reads of a file from one report to the next.
inline constexpr std::uint64_t file_report_bytes = 64u << 20;
/// Time without a report after which a node does not get on with a file; and most time for all files of a run.
inline constexpr std::chrono::milliseconds file_stall_max = 60s;
inline constexpr std::chrono::milliseconds file_time_max = 4h;
/// For a driver to find its own numeric address.
inline constexpr std::chrono::milliseconds own_address_timeout = 10s;
/// From the start of a driver until its launcher has told it the nodes.
inline constexpr std::chrono::milliseconds launch_setup_timeout = 30s;
/// Greatest liveness::timeout and grace that an agent takes from its driver.
inline constexpr std::chrono::milliseconds agent_wait_max = 24h;
// --- which nodes a launch has ----------------------------------------------------------------------------------------
inline constexpr std::uint32_t launch_nodes_max = 10'000;
/// Slots of one node: processes that a launch starts there. Counts of processors per node have the same limit.
inline constexpr std::uint32_t node_slots_max = 4096;
/// The greatest length of a name in DNS, and of one of its parts.
inline constexpr std::size_t node_name_bytes_max = 253;
inline constexpr std::size_t node_label_bytes_max = 63;
/// Room for launch_nodes_max names of the greatest length, with as many bytes of comments.
inline constexpr std::size_t hostfile_bytes_max = 8u << 20;
/// One message between launcher and driver: all nodes with the longest names and all slots, and an environment.
inline constexpr std::size_t launch_line_bytes_max = 16u << 20;
/// Messages that wait at one end of the channel between them; more, and the other end counts as lost.
inline constexpr std::size_t launch_bytes_queued_max = 64u << 20;
/// Variables that are forwarded to nodes; one file of them.
inline constexpr std::size_t launch_variables_max = 4096;
inline constexpr std::size_t launch_variables_bytes_max = 1u << 20;
/// --join-timeout and --grace, and how long an agent may take to leave when its driver has ended; it is killed then.
inline constexpr std::chrono::milliseconds launch_join_timeout = 60s;
inline constexpr std::chrono::milliseconds launch_grace = 30s;
inline constexpr std::chrono::milliseconds launch_leave_time = 5s;
/// Then from SIGTERM to SIGKILL for the ssh of such an agent.
inline constexpr std::chrono::milliseconds launch_kill_grace = 1s;
/// From the first to the last look for a file that another node writes.
inline constexpr std::chrono::milliseconds join_file_pause_min = 10ms;
inline constexpr std::chrono::milliseconds join_file_pause_max = 500ms;
/// Between attempts to reach a node whose name does not resolve yet.
inline constexpr std::chrono::milliseconds launch_retry_pause_min = 250ms;
inline constexpr std::chrono::milliseconds launch_retry_pause_max = 5s;
// --- joining ---------------------------------------------------------------------------------------------------------
/// Name of a node or of the driver's host: the longest that DNS has.
inline constexpr std::size_t join_name_bytes_max = node_name_bytes_max;
/// PEM of a certificate, and of a request for one; ours have less than 1 KiB.
inline constexpr std::size_t join_certificate_bytes_max = 16u << 10;
inline constexpr std::size_t join_request_bytes_max = 4u << 10;
/// Addresses of the driver in a join ticket; a host with many networks has as many.
inline constexpr std::size_t join_addresses_max = 8;
/// Text of a ticket, the end of its line included.
inline constexpr std::size_t join_ticket_bytes_max = 4u << 10;
/// Wait for a ticket on the standard input, which is written before the agent starts.
inline constexpr std::chrono::milliseconds join_ticket_timeout = 30s;
/// What a node says when it joins, and the answer; together with the frame it stays below frame_buffer_bytes.
inline constexpr std::size_t join_message_bytes_max = 3u << 10;
/// Text of a version.
inline constexpr std::size_t join_version_bytes_max = 64;
/// One attempt to join: a name that resolves, a connection, TLS and the answer.
inline constexpr std::chrono::milliseconds join_attempt_timeout = 5s;
/// Between attempts: twice as long each time, from the least to the greatest.
inline constexpr std::chrono::milliseconds join_retry_min = 20ms;
inline constexpr std::chrono::milliseconds join_retry_max = 1s;
/// Attempts that the driver rejects by a word of TLS, which follows its certificate. A closed connection counts as
/// none.
inline constexpr std::uint32_t join_refusals_max = 5;
/// Nodes with tickets.
inline constexpr std::size_t join_tickets_max = launch_nodes_max;
// --- room at the start -----------------------------------------------------------------------------------------------
/// Most threads started at once to test the system's limits.
inline constexpr std::uint32_t checked_threads_max = 4096;
/// Stack of such a thread if it stands for a thread of another process.
inline constexpr std::size_t checked_stack_bytes = 64u << 10;
/// Time until the system no longer counts an ended thread.
inline constexpr std::chrono::milliseconds thread_release_max = 1s;
/// Address space for mappings after the libraries, without thread stacks: model, data and first runs of kernels. A
/// small model needs some 300 MiB.
inline constexpr std::uint64_t checked_address_bytes = std::uint64_t{384} << 20;
// --- results ---------------------------------------------------------------------------------------------------------
/// Random names tried for a temporary file.
inline constexpr int temporary_names_max = 16;
// --- journal ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t journal_header_bytes_max = 64u << 10;
/// One state of the largest size with its frame.
inline constexpr std::size_t journal_record_bytes_max = score_words_max * 8 + 64;
/// Zeros at the end that a power loss may leave; far more than one sync interval writes.
inline constexpr std::uint64_t journal_zeros_max = std::uint64_t{256} << 20;
/// Folded states that wait for the writing thread; it may hold as many again.
inline constexpr std::size_t journal_queue_bytes_max = 16u << 20;
/// States folded within this time share one write.
inline constexpr std::chrono::milliseconds journal_write_interval = 10ms;
/// Interval of syncs, after which states survive a power loss.
inline constexpr std::chrono::seconds journal_sync_interval = 1s;
/// A full queue that does not move for this time fails the run.
inline constexpr std::chrono::seconds journal_stall_max = 10s;

static_assert(blob_part_bytes <= blob_bytes_on_way_max && blob_bytes_on_way_max < link_bytes_queued_max,
              "a part can be sent, and all that are on their way can wait at an end of a link");
static_assert(blob_stall_max > 2 * channel_timeout, "a node with a frozen worker takes blobs");
static_assert(control_request_margin > heartbeat_max + 1s, "a worker that is silent is ended before its call is");
static_assert(link_first_word_timeout > worker_hello_timeout, "a late worker is ended by its pool, which says so");
static_assert(link_bytes_queued_max >= 2 * wire_message_bytes_max, "the largest message can wait behind another");
static_assert(file_bytes_ahead_max >= 2 * blob_part_bytes, "a part of a file is written while the next one is sent");
static_assert(replay_window_slack >= scores_per_message_max,
              "a full batch of scores must fit the window, or the loader starves");
static_assert(score_words_max <= wire_array_items_max, "a score of the largest size must fit a list");
static_assert(frame_header_bytes_max + 20 + join_message_bytes_max <= frame_buffer_bytes,
              "a peer that joins sends no more than another untrusted one");
static_assert(2 * tcp_keep_alive < tcp_silence_timeout, "one late ping must not end an edge");
static_assert(message_unheard_beats > 2 * heartbeats_per_timeout,
              "a frozen process is noticed by its silence, and may thaw until then");
static_assert(4 * message_repeat_beats < message_unheard_beats, "a message that is lost again and again still arrives");
static_assert(heartbeats_per_timeout >= 4 && 4 * heartbeat_min <= std::chrono::duration<double>(worker_timeout_min),
              "a few late heartbeats must not end a worker");
static_assert(score_words_max * 9 + 4096 <= wire_message_bytes_max, "a score of the largest size must fit a message");
static_assert(2 * journal_queue_bytes_max < journal_zeros_max, "both queues may be on their way to the disk");
static_assert(journal_record_bytes_max < journal_queue_bytes_max, "a state of the largest size must fit the queue");

}  // namespace troupe::limits
