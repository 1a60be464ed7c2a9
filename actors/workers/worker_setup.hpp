#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/agent.hpp"
#include "messages/error_text.hpp"
#include "messages/payload.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/inject/fault_injector.hpp"
#include "runtime/os/blob.hpp"
#include "runtime/process/hosted_worker.hpp"
#include "runtime/telemetry/shared_page.hpp"
#include <troupe/options.hpp>

namespace troupe {

class fork_server;

/// What a worker must be told to become one stage replica, because it cannot find it out by itself.
struct assignment_data {
  /// worker_assignment::threads, boundaries, runs_plain, inputs and ties.
  std::uint32_t threads = 1;
  std::vector<std::uint64_t> boundaries = {};
  bool runs_plain = false;
  std::vector<std::string> inputs = {};
  std::vector<tied_stages> ties = {};
  /// Null: the stage is not warmed up.
  payload_ptr warm_up = nullptr;
  /// "5 Conv2d … 14 LogSoftmax", for the log; empty for a stage that is no part of a model.
  std::string layers = {};
};

/// How the stages of a run are put into worker processes.
struct worker_setup {
  /// Says which stages live in workers.
  std::function<bool(stage_address address)> is_remote;
  std::function<assignment_data(stage_address address)> assignment;
  /// The node of a launch that the program wants for a stage, by name; empty or null: any.
  std::function<std::string(stage_address address)> wanted_node = nullptr;
  /// The fingerprint of the stages that workers are to build (plan_fingerprint.hpp).
  std::uint64_t fingerprint = 0;
  /// Model files, which must be the same on every other node.
  std::vector<file_identity> files = {};
  std::shared_ptr<const payload_codec> codec;
  /// Edges between processes. Not null.
  std::shared_ptr<transport> edges = nullptr;
  /// The channels between devices of two workers, which have such an edge (edge_reach::devices).
  std::set<std::size_t> device_channels = {};
  /// The place of this process and of the workers on the same host.
  host_place home = {};
  /// What workers of this host are copied from; null: they are executed.
  std::shared_ptr<fork_server> from = nullptr;
  /// Variables that workers of this host have besides.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// The pages of those engines of this process that have a neighbour in another process: the loader and local stages.
  std::map<stage_address, shared_page> local_pages = {};
  /// Where the run trains: the memory of each stage's weights, which its worker gets, and which outlives it. The agent
  /// of another node makes a copy for its workers, in which the stage goes on.
  std::map<stage_address, blob> states = {};
  /// The options that the user has given. Workers have the same time-out: worker_description::silence_timeout.
  worker_options asked = {};

  /// false only in mutation tests: an order goes out before the memory that it names.
  bool memory_first = true;
  /// false only in mutation tests: a stage is replaced while the worker that had it may still live.
  bool awaits_ends = true;

  /// The faults that are injected into the run; null: none.
  std::shared_ptr<fault_injector> faults = nullptr;

  /// For assembly_options::page_of.
  [[nodiscard]] std::function<std::shared_ptr<engine_page>(stage_address)> page_finder() const {
    return [pages = local_pages](stage_address at) { return pages.at(at).page(); };
  }
};

/// A worker that has become a stage.
struct registered_worker {
  hosted_worker_ptr worker;
  /// worker_hello::edge_contact.
  std::uint64_t edge_contact = 0;
};

/// Which worker has become which stage. The actor of a stage writes it before it reports that the stage is ready; the
/// provider reads it to make the edges. Threads: any.
class worker_registry {
 public:
  void put(stage_address at, registered_worker worker) {
    const std::lock_guard lock{mutex_};
    registry_.insert_or_assign(at, std::move(worker));
  }
  [[nodiscard]] std::optional<registered_worker> at(stage_address address) const {
    const std::lock_guard lock{mutex_};
    const auto found = registry_.find(address);
    return found == registry_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::map<stage_address, registered_worker> all() const {
    const std::lock_guard lock{mutex_};
    return registry_;
  }
  /// A function that kills the worker which has the stage now, with an error as the reason. It kills that worker also
  /// if another one has the stage by then. Empty if the stage has no worker.
  [[nodiscard]] std::function<void(const error&)> kill_switch_of(stage_address address) const {
    const auto found = at(address);
    if (!found) return {};
    return [worker = found->worker](const error& why) { worker->kill(brief(why)); };
  }

 private:
  mutable std::mutex mutex_;
  std::map<stage_address, registered_worker> registry_;
};

}  // namespace troupe
