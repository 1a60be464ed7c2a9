#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

/// What a driver and the agent of another node say to each other: the functions of worker_host and of its listener
/// (runtime/process/worker_host.hpp) as messages. They travel as the bytes of messages/codec over the link of the node.
/// A worker is named by its rank, which a driver never uses twice.
namespace troupe {

struct named_value {
  std::string name;
  std::string value;
  friend bool operator==(const named_value&, const named_value&) = default;
};

/// driver -> agent, first of all: what its workers are. Reply: agent_ready, or agent_refusal.
struct agent_setup {
  /// The driver's program, by its path and by the SHA-256 of its content in hexadecimal digits.
  std::string program;
  std::string program_hash;
  std::string directory;
  /// With argv[0].
  std::vector<std::string> arguments;
  /// Added to the agent's own.
  std::vector<named_value> environment;
  /// Slots of the node, of the nodes before it, and of all nodes.
  std::uint32_t slots = 1;
  std::uint32_t first_rank = 0;
  std::uint32_t world_size = 1;
  /// 1: each worker has its share of the cores.
  std::uint32_t bind_cores = 0;
};

/// agent -> driver: workers can be started.
struct agent_ready {
  std::uint32_t pid = 0;
};

/// agent -> driver: no worker of this run can live here. The agent ends.
struct agent_refusal {
  error cause;
};

/// driver -> agent. Reply: worker_started, and once it has started worker_ended, sooner or later; or worker_ended
/// alone.
struct start_worker {
  std::uint32_t rank = 0;
  /// An end that has nothing to say for so long is lost (liveness::timeout).
  std::uint64_t silence_ms = 0;
  /// 1: the run has faults of control messages, which the agent injects; 0: it has none. Of the first worker of a run
  /// it is that of all.
  std::uint32_t has_control_faults = 0;
};

/// agent -> driver: its program runs.
struct worker_started {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
};

/// Either way: what the driver says to a worker, or a worker to the driver. In order for each worker.
struct worker_message {
  std::uint32_t rank = 0;
  std::vector<std::byte> message;
};

/// driver -> agent: a part of a blob that is `size` bytes long, and zero where no part says something else.
struct blob_part {
  std::uint64_t blob = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> content;
};

/// agent -> driver: so many bytes of content have been put in their place. These messages bound the bytes on their way.
struct blob_part_taken {
  std::uint64_t bytes = 0;
};

/// driver -> agent: what the memory of a blob holds now, which workers may have made larger. Reply: blob_read. At most
/// limits::blob_part_bytes.
struct read_blob {
  std::uint64_t question = 0;
  std::uint64_t blob = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// agent -> driver: fewer bytes than were asked for where the memory ends before, none of a blob that is not there. In
/// the order of the questions.
struct blob_read {
  std::uint64_t question = 0;
  std::vector<std::byte> content;
};

/// A blob that the agent has: of this number, or, if it has a rank, the page of that worker.
struct blob_reference {
  std::uint64_t blob = 0;
  std::optional<std::uint32_t> page_of;
};

/// driver -> agent: hosted_worker::hand_over().
struct hand_over_blobs {
  std::uint32_t rank = 0;
  std::string name;
  std::vector<blob_reference> blobs;
};

/// driver -> agent: the blob is not spoken of any more.
struct drop_blob {
  std::uint64_t blob = 0;
};

/// driver -> agent: hosted_worker::kill().
struct kill_worker {
  std::uint32_t rank = 0;
};

/// driver -> agent, for a fault plan alone: hosted_worker::signal(). SIGKILL, SIGSTOP or SIGCONT.
struct signal_worker {
  std::uint32_t rank = 0;
  std::uint32_t number = 0;
};

/// What a fault plan does to a node.
enum class node_fault : std::uint32_t {
  kill,       ///< SIGKILL
  stop,       ///< SIGSTOP, and SIGCONT at its end
  partition,  ///< its connections to other nodes are silent, both ways
};

/// driver -> agent, for a fault plan alone. `fault` is a node_fault, of the agent alone or of its workers, too.
struct apply_fault {
  std::uint32_t fault = 0;
  std::uint32_t with_workers = 0;
  std::uint64_t lasts_ms = 0;
};

/// agent -> driver: its node is about to be taken away (SIGTERM). It stays for limits::launch_grace, in which the run
/// finishes its micro-batches and ends.
struct end_asked {
  std::uint32_t signal = 0;
};

/// agent -> driver: worker_listener::link_lost().
struct worker_link_lost {
  std::uint32_t rank = 0;
};

/// agent -> driver: a record of the log, of a worker if it has a rank. `level` is a log_level.
struct agent_log {
  std::optional<std::uint32_t> rank;
  std::uint32_t level = 0;
  std::string text;
};

/// agent -> driver: worker_listener::exited(), the last of a worker. The fields are those of exit_report.
struct worker_ended {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
  std::uint32_t kind = 0;
  std::uint32_t value = 0;
  std::uint32_t core_dumped = 0;
  std::uint64_t max_resident_bytes = 0;
  std::vector<std::string> last_lines;
};

/// agent -> driver, at the rate of heartbeats while it changes: stage_telemetry of a worker. `since_ns`: how long the
/// micro-batch has been in work.
struct worker_telemetry {
  std::uint32_t rank = 0;
  std::uint32_t has_begun = 0;
  std::optional<micro_batch_id> working_on;
  std::optional<std::uint64_t> since_ns;
  std::optional<std::uint64_t> median_ns;
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t forward_ns = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t arrived_bytes = 0;
  std::uint64_t faults = 0;
};

/// driver -> agent: what worker_telemetry says is wanted as it is now. Reply: what has changed, and telemetry_told.
struct ask_telemetry {
  std::uint64_t question = 0;
};

/// agent -> driver: all that was asked for was told before this.
struct telemetry_told {
  std::uint64_t question = 0;
};

/// driver -> agent: all workers end, those that live after the grace by force. Reply: workers_stopped.
struct stop_workers {
  std::uint64_t grace_ms = 0;
};

/// agent -> driver: no worker of this node is left.
struct workers_stopped {
  std::uint32_t all_ended = 0;
};

/// A file by its path and its content; the hash is its SHA-256 in 64 hexadecimal digits.
struct file_identity {
  std::string path;
  std::string hash;
  std::uint64_t size = 0;
};

/// driver -> agent: this file must be the same on the node, before workers read it. Reply: file_answers, of which one
/// says that it is there; or agent_refusal. One file after the other: `number` ascends from 1.
struct check_file {
  std::uint64_t number = 0;
  file_identity file;
};

/// What an agent does for a file. Each answer says more than the one before, in state or in bytes.
enum class file_state : std::uint32_t {
  looking,   ///< it has read so many bytes of a file that may be the one
  fetching,  ///< it has none, and so many bytes of what the driver has sent
  here,      ///< the last: workers can read it
};

/// agent -> driver. `state` is a file_state.
struct file_answer {
  std::uint64_t number = 0;
  std::uint32_t state = 0;
  std::uint64_t bytes = 0;
};

/// driver -> agent: the next part of a file that it has not. Reply: a file_answer for each.
struct file_part {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> content;
};

}  // namespace troupe
