#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/topology/topology_parts.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/topology.hpp>

namespace troupe {

struct process_context;

/// Which edges between processes may be between devices.
enum class device_reach : std::uint8_t {
  nowhere,
  host,        ///< where one process can open the other's memory (cuda_ipc): a run on one host
  everywhere,  ///< all between two devices (nccl)
};

/// Where the stages of a run are, and what its edges may do. Every process of a run finds the same.
struct device_layout {
  /// Each stage has a process of its own; without, those that ask for one.
  bool are_apart = false;
  device_reach reach = device_reach::nowhere;
};

/// What the options of a node say of the place where it runs.
struct node_role {
  /// In a worker process; the source never is, whatever stands here.
  bool has_worker = false;
  /// As written: "cpu" for a source, join or route.
  std::string device = "cpu";
  bool records_graphs = false;
};

/// A topology that passed its checks, with the options of its run and all that follows from both: made once in each
/// process of the run (the driver, the try-out process, the workers), by make(), and handed on. A value; the process
/// outlives it.
struct checked_run {
  topology what;
  /// The driver and the try-out process resolve options.threads (threads_of()); a worker is told its number.
  run_options options;
  /// The run in errors: the path of its model, or what it was made from.
  std::string name;
  const process_context* process;
  wiring_plan plan;
  device_layout layout;
  /// By node of the plan.
  std::vector<node_role> roles;

  /// Checks what needs no file, and expands the graph. Errors: those of topology::check(); E0504 for too many channels.
  [[nodiscard]] static expected<checked_run> make(topology what, run_options options, const process_context& process,
                                                  std::string name = "topology");

  [[nodiscard]] const topology_parts& parts() const noexcept { return what.parts(); }
  /// Some stage lives in a worker process.
  [[nodiscard]] bool has_workers() const { return parts().has_workers(options); }
  /// The pipeline of which a node is a part; null for any other node.
  [[nodiscard]] const cut_node* part_at(stage_index node) const;
  /// A node that runs code of the user; null for any other node.
  [[nodiscard]] const stage_node* stage_at(stage_index node) const;
  /// All stages of a pipeline live in workers, or none.
  [[nodiscard]] bool has_workers(const std::string& pipeline) const;

  /// worker_setup::wanted_node.
  [[nodiscard]] std::function<std::string(stage_address)> wanted_nodes() const;
  /// Variables for the workers and the try-out process: where they find weights that were loaded into an engine.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> environment() const;
  /// Equal in all processes that describe the same run: the plan, how models are cut and where nodes run, metrics by
  /// name, and the stamps of the models' files as they are now. What callables do cannot be seen.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

}  // namespace troupe
