#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// Every limit of a queue, a wait, a count or a size, in one place; derived ones are checked at compile time.
namespace troupe::limits {

using namespace std::chrono_literals;

// --- what a user may ask for -----------------------------------------------------------------------------------------
inline constexpr std::uint32_t stages_max = 1024;
inline constexpr std::uint32_t replicas_max = 256;
/// Ranks of a process topology, whatever its axes.
inline constexpr std::uint64_t ranks_max = std::uint64_t{stages_max} * replicas_max;
/// Layers of a model, and weights of `plan --weights`: a partition takes time in layers^2 x stages.
inline constexpr std::uint32_t layers_max = 4096;
inline constexpr std::uint32_t threads_max = 1024;
inline constexpr std::uint32_t pipe_buffers_max = 256;
/// Inputs, and outputs, of one node of a topology.
inline constexpr std::size_t ports_max = 64;
/// InferenceSchedule's own number: one micro-batch computed, one on its way.
inline constexpr std::uint32_t pipe_buffers_default = 2;
inline constexpr std::uint64_t micro_batch_max = 1u << 24;
inline constexpr std::uint64_t schedule_cells_max = 1u << 22;
inline constexpr std::uint32_t metric_classes_max = 4096;
/// A year: far beyond any run, and far below what a steady clock can count.
inline constexpr double deadline_seconds_max = 366.0 * 24 * 3600;
inline constexpr double deadline_seconds_min = 0.001;
/// Of the times that a worker is given: four heartbeats, and what a small stage needs to start, on a busy machine.
inline constexpr double worker_timeout_min = 1;
inline constexpr std::size_t config_bytes_max = 64u << 10;
/// Of a TOML file: dots of one key or table header, and arrays and inline tables inside each other. Options need none;
/// the parser recurses once per level.
inline constexpr std::size_t config_key_dots_max = 16;
inline constexpr std::size_t config_nesting_max = 16;

// --- in flight -------------------------------------------------------------------------------------------------------
/// Slots of the edge from the loader to a first stage: deeper than pipe_buffers_default, so that decoding and waking
/// the loader stay off the critical path of small micro-batches.
inline constexpr std::uint32_t prefetch_slots = 128;
/// What those slots may hold at the most, unless the pipe buffers alone hold more.
inline constexpr std::uint64_t prefetch_bytes = 4u << 20;
/// The same of an edge between two stages: deep enough for a stage to go on while the next one is off its core, and
/// small enough for what waits to stay in the cache.
inline constexpr std::uint32_t stage_edge_slots = 32;
inline constexpr std::uint64_t stage_edge_bytes = 256u << 10;
/// Scores that travel in one message at the most; fewer at the end of a call or when the times below have passed. Every
/// message takes a core from a stage for a moment: 0.2 ms between processes, mostly whatever the message holds.
inline constexpr std::uint32_t scores_per_message_max = 512;
/// Words that they have together, unless a single one has more.
inline constexpr std::size_t score_words_per_message = 1u << 18;
/// How long a stage holds scores back: briefly after new edges were wired, so that the first results are seen at once,
/// and from message to message twice as long.
inline constexpr std::chrono::nanoseconds score_delay_min = 1ms;
inline constexpr std::chrono::nanoseconds score_delay_max = 64ms;
/// The loader runs ahead of the low-water mark by all buffers of all replicas, plus this many micro-batches: one batch
/// of scores that wait on a stage, and one that the aggregator folds meanwhile.
inline constexpr std::uint32_t window_extra = 2 * scores_per_message_max;
/// What the loader keeps of large micro-batches, unless the least buffers alone hold more: a replica that is frozen
/// holds up the mark while the others go on. No loader reads so much within score_delay_max, so that it does not wait
/// for scores.
inline constexpr std::uint64_t window_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint32_t calls_queued_max = 64;
inline constexpr std::uint32_t commands_queued_max = 4096;
inline constexpr std::uint32_t trace_events_max = 1u << 22;
inline constexpr std::size_t log_lines_max = 1024;
/// A forward that fails is tried this many times in all before its micro-batch fails the call.
inline constexpr std::uint32_t forward_attempts_max = 2;

// --- supervision -----------------------------------------------------------------------------------------------------
/// Deaths of one stage without the low-water mark moving in between.
inline constexpr std::uint32_t deaths_without_progress_max = 3;
/// Deaths of one stage within the time below, whatever was done in between.
inline constexpr std::uint32_t deaths_in_window_max = 20;
inline constexpr std::chrono::seconds death_window = 60s;
/// From the news that an edge is silent until new edges are made for that: the death of a process, which is the usual
/// cause, is told in a moment and does the same.
inline constexpr std::chrono::milliseconds edge_loss_patience = 300ms;
/// Micro-batches that were sent are lost when nothing moves in the run for so long; with workers, for their time-out
/// and the margin, in which a worker that is silent is ended.
inline constexpr std::chrono::seconds lost_work_time = 30s;
inline constexpr std::chrono::seconds lost_work_margin = 5s;
/// A forward that takes so many times the median of those before it is reported as stalled.
inline constexpr std::uint32_t stall_factor = 10;
/// The median is of the last so many forwards, once there were at least so many, and no stall is shorter than this.
inline constexpr std::size_t stall_forwards_kept = 64;
inline constexpr std::uint64_t stall_forwards_min = 8;
inline constexpr std::chrono::seconds stall_time_min = 1s;

// --- waits -----------------------------------------------------------------------------------------------------------
/// A parked engine looks around at least this often, whatever its doorbell says.
inline constexpr std::chrono::milliseconds park_max = 100ms;
/// Longer than a preemption by the loader or an actor: a parked stage costs a wake-up through the kernel, and the
/// scheduler may put it on its neighbour's core. Spinning yields its core to whoever wants it, so that it is of use
/// also, and even more, where stages outnumber cores.
inline constexpr std::chrono::nanoseconds spin_budget = 500us;
inline constexpr std::chrono::seconds control_request_timeout = 30s;
/// Where stages are in workers: beyond the time after which a silent worker is ended, for the news of it to arrive.
inline constexpr std::chrono::seconds control_request_margin = 10s;
/// A stage that has not acknowledged a call is asked again: the time may have passed while this process did not run.
inline constexpr std::uint32_t control_request_attempts = 2;
/// A wait for a worker is made of so many timers: one that fires late, as this process was frozen, ends one slice.
inline constexpr std::uint32_t wait_slices = 10;
/// Who looks after a run does so every report_interval; after such a pause it was frozen itself.
inline constexpr std::chrono::milliseconds look_pause_max = 1s;
/// From the request to stop until every engine has reported; a forward in progress is waited for.
inline constexpr std::chrono::seconds stop_timeout = 60s;
/// The same after a deadline or a second Ctrl-C, when the process is about to end anyway.
inline constexpr std::chrono::seconds stop_timeout_in_a_hurry = 2s;
/// Samples of the micro-batch that stages are warmed up with.
inline constexpr std::int64_t warm_up_samples_max = 64;
inline constexpr std::chrono::milliseconds report_interval = 100ms;
/// At the end of a run, for hooks to take what is left for them.
inline constexpr std::chrono::seconds hooks_finish_time = 2s;
/// Of a preparation that was told to stop, until its thread is left behind. Layers and rounds look in between.
inline constexpr std::chrono::milliseconds preparation_stop_time = 1s;
/// For a reader of stderr that takes nothing, until what is written there is lost.
inline constexpr std::chrono::milliseconds stderr_patience = 1s;

// --- data ------------------------------------------------------------------------------------------------------------
/// Payloads start at such an address, as alignment changes the bits of some kernels; 64 is what LibTorch allocates
/// with.
inline constexpr std::size_t payload_alignment = 64;
/// A message on a shared-memory edge: its rows, tensors and passengers. Far above any micro-batch, and a bound for what
/// a damaged peer can make an end map.
inline constexpr std::uint64_t shm_slot_bytes_max = std::uint64_t{16} << 30;
/// Extents of slots are powers of two from here on; a multiple of every page size of Linux. Only what is written takes
/// memory.
inline constexpr std::uint64_t shm_extent_bytes_min = 64u << 10;
/// The loader decodes ahead until one of the two is reached, so that a micro-batch of one sample costs no decoder call.
inline constexpr std::uint64_t decode_block_samples = 256;
inline constexpr std::uint64_t decode_block_bytes = 1u << 20;
/// A gzip file is unpacked into memory as a whole; a larger one has to be unpacked on disk, where it is read in blocks.
inline constexpr std::uint64_t gzip_unpacked_bytes_max = std::uint64_t{4} << 30;
/// Packed bytes that are in memory at a time.
inline constexpr std::size_t gzip_packed_block_bytes = 256u << 10;
inline constexpr std::size_t npy_header_bytes_max = 64u << 10;
inline constexpr std::size_t npy_dimensions_max = 32;

// --- models ----------------------------------------------------------------------------------------------------------
/// The list of names in a model file; LibTorch's own files need some 100 bytes per tensor.
inline constexpr std::uint64_t model_directory_bytes_max = 64u << 20;
/// A model file is read in such pieces when its checksums are compared.
inline constexpr std::size_t model_read_bytes = 1u << 20;
/// What all packed entries of a model file unpack to: code and its line numbers, as weights are not packed.
inline constexpr std::uint64_t model_unpacked_bytes_max = 256u << 20;
/// One entry of code, or of pickled objects; these are read into memory.
inline constexpr std::uint64_t model_text_bytes_max = 256u << 20;
/// Objects within objects, as modules within modules; an export has some tens.
inline constexpr std::size_t model_object_depth_max = 500;
/// Operations within operations and blocks within blocks; an export has some tens.
inline constexpr std::size_t model_expression_depth_max = 500;
/// `profile` runs all layers so often before it measures: the first runs specialise the code and fill the caches.
inline constexpr std::uint32_t profile_warm_up_passes = 3;
/// Measured passes: at least and at most so many, within the time budget.
inline constexpr std::uint32_t profile_passes_min = 5;
inline constexpr std::uint32_t profile_passes_max = 101;
inline constexpr std::chrono::milliseconds profile_budget = 2000ms;

// --- worker processes ------------------------------------------------------------------------------------------------
/// Processes in which a model is tried out, one after another, while each is killed from outside.
inline constexpr std::uint32_t probe_attempts_max = 3;
/// For such a process to come to its first step, beside the time that its stages have to become ready.
inline constexpr std::chrono::milliseconds probe_start_time = 20s;
/// Of the report of such a process: its text, and all of it. Larger inputs to warm up with are left out.
inline constexpr std::uint64_t probe_text_bytes_max = 16u << 20;
inline constexpr std::uint64_t probe_report_bytes_max = std::uint64_t{1} << 30;
/// The part of a model or topology that is being tried out, for the message about a crash.
inline constexpr std::size_t probe_place_bytes_max = 240;
/// Of a worker's standard error, for the message about its end.
inline constexpr std::size_t worker_output_lines_kept = 20;
/// A longer line of output is cut.
inline constexpr std::size_t worker_output_line_bytes_max = 4096;
/// Read from one worker's pipe before the others get their turn.
inline constexpr std::size_t worker_output_bytes_per_turn = 64u << 10;
/// From a worker's death until its output counts as complete, if somebody it started still holds the pipe.
inline constexpr std::chrono::milliseconds worker_output_drain_time = 500ms;
/// From the request until the worker's program runs; loading a program from a slow disk is part of it.
inline constexpr std::chrono::seconds worker_start_timeout = 30s;
/// From SIGTERM to SIGKILL.
inline constexpr std::chrono::milliseconds worker_stop_grace = 5s;
/// From SIGKILL until the system has ended a process; longer only in an uninterruptible system call.
inline constexpr std::chrono::milliseconds worker_reap_time = 2s;
inline constexpr std::chrono::seconds worker_reap_time_at_exit = 20s;
/// Above standard error; also the greatest number that a worker may find an inherited descriptor at.
inline constexpr int worker_inherited_fd_max = 63;
inline constexpr std::size_t worker_environment_bytes_max = 256;
inline constexpr std::size_t channel_tag_bytes_max = 256;
inline constexpr std::size_t channel_fds_max = 4;
/// Certificates and keys take a few hundred bytes each.
inline constexpr std::size_t memory_file_bytes_max = 1u << 20;
/// From the start of a worker's program until it has said hello.
inline constexpr std::chrono::seconds worker_hello_timeout = 60s;
/// Before that, and not before the time-out for silent workers, one whose hello is late is no longer counted on.
inline constexpr std::chrono::milliseconds worker_hello_patience = 5s;
/// From the moment it is told which stage it shall be until it is ready: it reads its layers, makes them and warms
/// them up. What a user has who does not ask for another time.
inline constexpr std::chrono::seconds worker_start_deadline = 600s;
/// Workers in a row that end by themselves before they have said hello: the next one would, too.
inline constexpr std::uint32_t worker_failed_starts_max = 3;
/// Workers that are killed from outside before a single one has said hello, for each one that is waited for.
inline constexpr std::uint32_t worker_starts_killed_max = 10;
/// Workers that end between their hello and the first step of becoming a stage: those that one stage is given in a row,
/// and those without a stage that are replaced within death_window.
inline constexpr std::uint32_t workers_dead_when_given_max = 10;
inline constexpr std::uint32_t spares_lost_in_window_max = 20;
/// Workers that wait without a stage, so that a replacement takes no program start.
inline constexpr std::uint32_t worker_spares = 1;
/// A worker that has no stage after this time prepares for whatever it may become. The first ones have theirs by then.
inline constexpr std::chrono::milliseconds worker_idle_before_preparing = 100ms;
/// Of a model's file that spares load in advance.
inline constexpr std::uint64_t spare_model_bytes_max = 256u << 20;
/// Samples that the replacement of a dead stage is warmed up with: everybody waits for it.
inline constexpr std::int64_t warm_up_samples_of_replacement = 1;
/// For room on a worker's channel, and from a message until the descriptors it speaks of are there; they were sent
/// before it.
inline constexpr std::chrono::milliseconds channel_timeout = 5s;
/// Before now, for clocks that differ, and after.
inline constexpr std::chrono::hours credentials_valid_before = 24h;
inline constexpr std::chrono::hours credentials_valid_after = 24h * 30;
/// The control plane: an end that says nothing for the time-out is lost; what a user has who does not ask for another.
inline constexpr std::chrono::milliseconds worker_silence_timeout = 10s;
/// An end that has nothing to say says so this often within that time; not more often than the least, as each time
/// takes both processes some 0.1 ms, and CAF gives up a greeting that has not come by the next one.
inline constexpr std::int64_t heartbeats_per_timeout = 10;
inline constexpr std::chrono::milliseconds heartbeat_min = 250ms;
inline constexpr std::chrono::milliseconds heartbeat_max = 5s;
/// An end that did not look for so many heartbeats was frozen itself, and gives the other one a new period.
inline constexpr std::int64_t frozen_after_heartbeats = 2;
/// From a worker's greeting over its link until it has the driver's address.
inline constexpr std::chrono::milliseconds worker_connect_timeout = 30s;

// --- room at the start -----------------------------------------------------------------------------------------------
/// Threads that are started at once to see whether the system gives them; more are not tried.
inline constexpr std::uint32_t room_threads_max = 4096;
/// Stack of such a thread, where it stands for one of another process.
inline constexpr std::size_t room_stack_bytes = 64u << 10;
/// For the system to stop counting a thread that has ended.
inline constexpr std::chrono::milliseconds thread_release_max = 1s;
/// Addresses for what a process maps after its libraries, beside the stacks of its threads: model, data and the first
/// runs of the kernels. A small model needs some 300 MiB.
inline constexpr std::uint64_t room_address_bytes = std::uint64_t{384} << 20;

// --- results ---------------------------------------------------------------------------------------------------------
/// Random names of which one must be free for a file that is not yet complete.
inline constexpr int temporary_names_max = 16;

// --- the wire (checked before memory is allocated) -------------------------------------------------------------------
inline constexpr std::uint32_t wire_version = 1;
inline constexpr std::size_t wire_message_bytes_max = 64u << 20;
inline constexpr std::size_t wire_string_bytes_max = 64u << 10;
inline constexpr std::size_t wire_depth_max = 16;
inline constexpr std::size_t wire_array_items_max = 1u << 20;
/// Tensors of one payload, dimensions of one tensor, bytes of its name.
inline constexpr std::size_t wire_tensors_max = 256;
inline constexpr std::size_t wire_dimensions_max = 32;
inline constexpr std::size_t wire_tensor_name_bytes_max = 255;
inline constexpr std::size_t score_words_max = 1u << 20;
/// Frames of the data plane (docs/wire.md). A header has at most 12 numbers of 9 bytes; a payload is one micro-batch.
inline constexpr std::uint16_t frame_version = 2;
inline constexpr std::size_t frame_header_bytes_max = 128;
inline constexpr std::uint64_t frame_payload_bytes_max = std::uint64_t{4} << 30;
/// What is read of a stranger before its hello is complete, and the part of a frame that is buffered at all.
inline constexpr std::size_t frame_buffer_bytes = 4096;
/// Connections that have not shown to know the run's secret: the oldest one is closed for the next.
inline constexpr std::size_t tcp_strangers_max = 64;
/// From the first byte of a connection to the end of its handshake; TLS needs some round trips and signatures.
inline constexpr std::chrono::milliseconds tcp_handshake_timeout = 10s;
/// How long an accepted edge waits for its peer to connect: all workers load their models first.
inline constexpr std::chrono::milliseconds tcp_attach_timeout = 120s;
/// An end that has nothing to say says so this often; a peer that says nothing for the time-out is lost.
inline constexpr std::chrono::milliseconds tcp_keep_alive = 1s;
inline constexpr std::chrono::milliseconds tcp_silence_timeout = 10s;
/// What is queued when an endpoint stops gets so long to leave.
inline constexpr std::chrono::milliseconds tcp_stop_timeout = 5s;

// --- journal ---------------------------------------------------------------------------------------------------------
inline constexpr std::size_t journal_header_bytes_max = 64u << 10;
/// One state of the largest size, and what stands around its words.
inline constexpr std::size_t journal_record_bytes_max = score_words_max * 8 + 64;
/// Zeros that a loss of power may have left at the end; far more than is written between two syncs.
inline constexpr std::uint64_t journal_zeros_max = std::uint64_t{256} << 20;
/// Folded states that wait for the thread that writes; as many again may be in its hands.
inline constexpr std::size_t journal_queue_bytes_max = 16u << 20;
/// What is folded within this time goes to the file in one write.
inline constexpr std::chrono::milliseconds journal_write_interval = 10ms;
/// From a write to the disk's confirmation that a loss of power survives.
inline constexpr std::chrono::seconds journal_sync_interval = 1s;
/// A full queue that no disk takes anything from fails the run after this time.
inline constexpr std::chrono::seconds journal_stall_max = 10s;

static_assert(control_request_margin > heartbeat_max + 1s, "a worker that is silent is ended before its call is");
static_assert(frozen_after_heartbeats < heartbeats_per_timeout, "a freeze is seen before the other end is judged");
static_assert(window_extra >= scores_per_message_max,
              "a full batch of scores must fit the window, or the loader starves");
static_assert(score_words_max <= wire_array_items_max, "a score of the largest size must fit a list");
static_assert(2 * tcp_keep_alive < tcp_silence_timeout, "one late ping must not end an edge");
static_assert(heartbeats_per_timeout >= 4 && 4 * heartbeat_min <= std::chrono::duration<double>(worker_timeout_min),
              "a few late heartbeats must not end a worker");
static_assert(score_words_max * 9 + 4096 <= wire_message_bytes_max, "a score of the largest size must fit a message");
static_assert(2 * journal_queue_bytes_max < journal_zeros_max, "both queues may be on their way to the disk");
static_assert(journal_record_bytes_max < journal_queue_bytes_max, "a state of the largest size must fit the queue");

}  // namespace troupe::limits
