#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messages/agent.hpp"
#include "messages/codec/codec.hpp"
#include "messages/limits.hpp"
#include "runtime/agent_host/sent_blobs.hpp"
#include "runtime/agent_host/sent_files.hpp"
#include "runtime/link/message_link.hpp"
#include "runtime/process/hosted_worker.hpp"

namespace troupe {

class agent_worker;

/// The agent of one node, as its driver has it: what it can do, its workers by rank, its loss. One for a node, for all
/// runs of the driver.
///
///   joined --agent_ready--> ready --loss--> lost
///   joined --agent_refusal, loss--> lost
///
/// Threads: any.
class node_agent : public std::enable_shared_from_this<node_agent> {
 public:
  /// A link of the node that is not started. `log` gets the log lines about the node itself.
  node_agent(host_place home, std::shared_ptr<message_link> link, log_function log);
  node_agent(const node_agent&) = delete;
  node_agent& operator=(const node_agent&) = delete;
  ~node_agent() = default;

  [[nodiscard]] const host_place& home() const noexcept { return home_; }
  /// Once: what its workers are to be.
  void set_up(const agent_setup& setup);
  /// Until it is ready. E0617 where it refused; E0618 where it was lost, or is not ready at `deadline`.
  [[nodiscard]] expected<void> wait_until_ready(std::chrono::steady_clock::time_point deadline);
  /// Why it is lost; nothing while it is not.
  [[nodiscard]] std::optional<error> loss() const;
  /// `told` is called when it is lost, or now if it is; before the ends of its workers are told. Not under a lock.
  void on_lost(std::function<void(const error&)> told);
  /// `told` is called each time that the node is about to be taken away (end_asked), on the thread of its link. Before
  /// set_up(), once.
  void on_end_asked(std::function<void()> told) { on_end_asked_ = std::move(told); }
  /// The driver gives it up: it is lost, the agent ends with its link, and its workers are told as lost a moment later,
  /// on the thread of the link.
  void lose(const error& why);

  /// Until workers of the node can read the file at its path: it is there, or it was sent. Errors: sent_files.
  [[nodiscard]] expected<void> provide(const file_identity& file, std::chrono::steady_clock::time_point deadline,
                                       const std::stop_token& stop) {
    return files_.provide(file, deadline, stop);
  }

  // --- for agent_host and its workers ---

  /// Known from now on, and asked for; E0618 where the node is lost.
  [[nodiscard]] expected<void> start(const std::shared_ptr<agent_worker>& worker, std::chrono::milliseconds silence,
                                     bool has_control_faults = false);
  [[nodiscard]] expected<void> hand_over(std::uint32_t rank, const std::string& name, std::span<const blob> blobs);
  /// hosted_worker::read_back(). E0702 for an answer of another size than that of all parts but the last.
  [[nodiscard]] expected<std::size_t> read_back(const blob& what, std::uint64_t offset, std::span<std::byte> into);
  [[nodiscard]] sent_blobs& blobs() noexcept { return blobs_; }
  /// Nothing happens once it is lost. E0701 for a message that is too large.
  template <class Message>
  [[nodiscard]] expected<void> send(const Message& message);
  /// One that is not.
  template <class Message>
  void tell(const Message& message);
  /// Asks for the telemetry of all workers as it is now; false if it has not come by `deadline`.
  bool refresh_telemetry(std::chrono::steady_clock::time_point deadline);
  /// True if the agent said that no worker is left, or is lost, by `deadline`.
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace);

 private:
  enum class phase : std::uint8_t { joined, ready, lost };

  void take(const codec::bytes& message);
  void handle(const agent_ready& said);
  void handle(const agent_refusal& said);
  void handle(const worker_started& said);
  void handle(const worker_message& said);
  void handle(const worker_link_lost& said);
  void handle(const agent_log& said);
  void handle(const worker_ended& said);
  void handle(const worker_telemetry& said);
  void handle(const workers_stopped& said);
  void handle(const end_asked& said);
  void handle(const telemetry_told& said);
  void handle(const file_answer& said);
  void handle(const blob_part_taken& said);
  void handle(const blob_read& said);
  [[nodiscard]] std::shared_ptr<agent_worker> find(std::uint32_t rank) const;
  [[nodiscard]] error loss_of(const error& why) const;
  [[nodiscard]] bool note_loss(const error& why);
  void tell_loss();
  void lose_now(const error& why);
  [[nodiscard]] expected<void> take_room(const blob_part& part);
  [[nodiscard]] expected<std::vector<std::byte>> await_read(std::uint64_t question);

  const host_place home_;
  const std::shared_ptr<message_link> link_;
  const log_function log_;
  sent_blobs blobs_;
  sent_files files_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  phase phase_ = phase::joined;
  std::optional<error> loss_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;
  /// An agent answers each, in order.
  std::uint64_t stops_asked_ = 0;
  std::uint64_t stops_answered_ = 0;
  /// The last answer.
  bool all_ended_ = false;
  std::size_t blob_bytes_on_way_ = 0;
  /// Held by the one who reads back.
  std::mutex reading_;
  std::uint64_t reads_asked_ = 0;
  /// By question: null until its answer is there; nothing where it is not wanted any more.
  std::map<std::uint64_t, std::optional<std::vector<std::byte>>> reads_;
  std::uint64_t reads_answered_ = 0;
  std::map<std::uint32_t, std::shared_ptr<agent_worker>> workers_;
  std::vector<std::function<void(const error&)>> on_lost_;
  std::function<void()> on_end_asked_;
};

}  // namespace troupe
