#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "program/launch/run_hosts.hpp"
#include "runtime/agent_host/node_agent.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/expected_addresses.hpp"
#include "runtime/edge/tcp/node_network.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/join/job_authority.hpp"
#include "runtime/join/ticket_book.hpp"
#include "runtime/launch/launch_channel.hpp"
#include "runtime/launch/stage_placement.hpp"
#include "runtime/link/link_acceptor.hpp"
#include "runtime/local_host/local_ranks.hpp"
#include "runtime/log/recent_count.hpp"
#include "runtime/process/memory_file.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// The nodes of the launch that this process is the driver of (docs/multi-node.md): its certificate authority, the one
/// listener for their links and edges, their agents. It lives from the start of main() to the end of the process, for
/// any number of runs. Threads: any.
class launched_nodes {
 public:
  /// Once: listens, and tells the launcher the tickets; agents join from now on. `codec` is that of edges. When the
  /// launcher is gone this process ends. The object is never destroyed: threads of other nodes' links use it. E0103,
  /// E0404, E0601, E0614, E0707, E0708.
  [[nodiscard]] static expected<launched_nodes*> open(const launch_environment& environment,
                                                      std::shared_ptr<const payload_codec> codec);

  /// This host among the nodes; without a name where it is none of them.
  [[nodiscard]] const host_place& home() const noexcept { return home_; }
  [[nodiscard]] const std::shared_ptr<tcp_endpoint>& endpoint() const noexcept { return endpoint_; }

  /// Waits until all nodes have joined or will not, and places the stages of a run: those of nodes that did not join on
  /// slots of others, and where these are too few it fails at once. `log` gets the log lines about its workers and,
  /// as long as no later run gets them, those about the nodes. Errors: open_hosts().
  [[nodiscard]] expected<run_hosts> open_hosts(const wiring_plan& plan, const worker_setup& workers, log_function log);

  /// What faults can name.
  [[nodiscard]] std::vector<fault_shape::place> places() const;
  /// fault_injector::actions::hurt_node.
  [[nodiscard]] bool hurt(const fault& what);

  /// The node of each stage in a worker, as a position among the nodes: by --placement, by the program's wish, by rank.
  /// E0102, E0103.
  [[nodiscard]] expected<std::map<stage_address, std::size_t>> place(const wiring_plan& plan,
                                                                     const worker_setup& workers) const;

 private:
  /// A node: its agent once it has joined, or why it will not join.
  struct member {
    std::shared_ptr<node_agent> agent;
    std::optional<error> failure;
  };

  launched_nodes(std::unique_ptr<driver_channel> channel, job_authority authority);
  [[nodiscard]] expected<void> listen(std::shared_ptr<const payload_codec> codec);
  [[nodiscard]] expected<void> find_expected();
  [[nodiscard]] expected<void> make_own_network();
  [[nodiscard]] expected<void> tell_tickets();
  [[nodiscard]] expected<void> describe_workers();
  [[nodiscard]] expected<void> end_with_launcher();

  void joined(node_link link);
  void admit(std::size_t node, const node_link& link);
  void failed(const launch_agent_failed& what);
  [[nodiscard]] agent_setup setup_for(std::size_t node) const;
  [[nodiscard]] node_ranks ranks_of(std::size_t node) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_of(std::size_t node) const;
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const;
  [[nodiscard]] std::shared_ptr<node_agent> agent_of(std::size_t node) const;
  [[nodiscard]] expected<std::shared_ptr<node_agent>> wait_for(std::size_t node);
  [[nodiscard]] expected<std::shared_ptr<worker_host>> open_host(std::size_t node, const worker_setup& workers,
                                                                 const log_function& log);
  [[nodiscard]] expected<std::shared_ptr<worker_host>> open_own_host(std::size_t node, const worker_setup& workers,
                                                                     const log_function& log);
  [[nodiscard]] expected<log_function> log_of_ranks(log_function log) const;
  /// Opens all hosts; that of a node which did not join is closed, and the node is lost.
  [[nodiscard]] expected<std::vector<std::shared_ptr<worker_host>>> open_all(const worker_setup& workers,
                                                                             stage_placement& places,
                                                                             const log_function& log);
  [[nodiscard]] expected<void> go_on_without(std::size_t node, const error& why, stage_placement& places,
                                             const log_function& log);
  [[nodiscard]] expected<void> provide(const std::vector<file_identity>& files, stage_placement& places,
                                       const log_function& log);
  [[nodiscard]] std::string refused_lately() const;
  void say(log_record record);

  const std::chrono::steady_clock::time_point join_deadline_;
  const std::unique_ptr<driver_channel> channel_;
  const launch_setup& setup_;
  const std::shared_ptr<job_authority> authority_;
  const std::shared_ptr<ticket_book> tickets_;
  const std::shared_ptr<expected_addresses> expected_ = std::make_shared<expected_addresses>();
  recent_count refused_;
  host_place home_;
  std::shared_ptr<const memory_file> own_network_;
  std::shared_ptr<local_ranks> own_ranks_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  /// The setup of all nodes; nothing before describe_workers(), and nodes that join before that wait in early_.
  std::optional<agent_setup> common_;
  std::vector<node_link> early_;
  std::vector<member> members_;
  std::uint32_t next_rank_ = 0;
  log_function log_;
  std::vector<log_record> unsaid_;

  /// Last: its thread uses the others.
  std::shared_ptr<tcp_endpoint> endpoint_;
};

}  // namespace troupe
