#pragma once

#include <memory>

#include "runtime/link/message_link.hpp"
#include "runtime/process/hosted_worker.hpp"
#include "runtime/process/memory_file.hpp"

namespace troupe {

struct agent_options {
  /// To the driver; not started.
  std::shared_ptr<message_link> driver;
  host_place home;
  /// For its workers (local_host_options::network); may be null.
  std::shared_ptr<const memory_file> network;
};

/// What runs on a node without the driver: starts, watches and ends the workers of this node for it (messages/agent.hpp
/// over the link). One driver, any number of its runs, one after the other.
///
///   greeting --agent_setup--> serving --the driver is gone, stop()--> ended (no worker is left)
///   greeting --agent_setup that cannot be--> ended
///
/// Threads: serve() is the one that waits: it starts workers and hands over blobs, while the link's thread keeps the
/// link alive.
class agent {
 public:
  explicit agent(agent_options options);
  agent(const agent&) = delete;
  agent& operator=(const agent&) = delete;
  ~agent();

  /// Returns once no worker is left. Nothing after stop(), and where the driver has gone after the end of its last run;
  /// else why it is gone, or what it asked for that cannot be. Once.
  [[nodiscard]] expected<void> serve();
  /// Tells the driver that this node is about to be taken away: the run is to end before. Any thread, but no handler of
  /// signals; before, during and after serve(), any number of times.
  void ask_for_end(int signal) noexcept;
  /// Ends serve() as if the driver were gone. Any thread, but no handler of signals.
  void stop() noexcept;

 private:
  struct core;
  const std::shared_ptr<core> core_;
};

}  // namespace troupe
