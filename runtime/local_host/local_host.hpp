#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/link/message_link.hpp"
#include "runtime/local_host/local_ranks.hpp"
#include "runtime/local_host/local_worker.hpp"
#include "runtime/process/memory_file.hpp"
#include "runtime/process/worker_host.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe {

using link_decorator = std::function<std::shared_ptr<message_link>(std::shared_ptr<message_link>,
                                                                   const std::shared_ptr<engine_page>& page)>;

/// What workers of a host are, and where it stands among other hosts. The defaults are those of a run of this program
/// on this host alone.
struct local_host_options {
  /// Times of the links to its workers.
  liveness times = {};
  /// Gets what workers print, their starts, and the ends of those without a stage. Any thread; may be null.
  log_function log = nullptr;
  /// False: neither starts nor ends, which another host logs.
  bool logs_lives = true;
  std::string program = "/proc/self/exe";
  /// With argv[0]; empty: this process's own.
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  host_place home = {};
  /// The text of a node_network, for its workers; null: they need none.
  std::shared_ptr<const memory_file> network = nullptr;
  /// Null: workers have no RANK.
  std::shared_ptr<local_ranks> ranks = nullptr;
  /// Each worker with a slot has its share of the cores; needs `ranks`.
  bool bind_cores = false;
  /// The fork server of `program`; not used with `bind_cores`, whose workers have no threads yet when they are bound.
  std::shared_ptr<fork_server> from = nullptr;
  /// The number of the next worker that start() starts; null: they ascend from 0.
  std::function<std::uint32_t()> next_rank = nullptr;
  /// Stands in front of the link to each worker, whose page it may mark: a fault plan's disturb_link(); null: nothing.
  link_decorator around_link = nullptr;
};

/// Workers that are processes of this host (docs/workers.md). Each inherits its channel, its link, and on several
/// nodes the text of its network, and nothing else.
class local_host final : public worker_host {
 public:
  /// E0614.
  [[nodiscard]] static expected<std::shared_ptr<local_host>> create(local_host_options options);

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override;
  /// The same for a worker whose rank is known.
  [[nodiscard]] expected<hosted_worker_ptr> start_as(std::uint32_t rank, std::shared_ptr<worker_listener> listener);
  void refresh_telemetry(std::chrono::steady_clock::time_point) override {}
  void close() noexcept override { closed_ = true; }
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) override;

 private:
  /// What a worker inherits.
  struct inheritance {
    unique_fd channel;
    unique_fd link;
  };

  local_host(std::unique_ptr<link_loop> links, std::unique_ptr<process_host> host, local_host_options options);
  [[nodiscard]] expected<hosted_worker_ptr> start_on(std::uint32_t local_rank, std::uint32_t rank,
                                                     std::shared_ptr<worker_listener> listener);
  [[nodiscard]] expected<std::shared_ptr<local_worker>> make_worker(std::uint32_t local_rank, std::uint32_t rank,
                                                                    inheritance& left);
  [[nodiscard]] std::function<void(local_worker&, const exit_report&)> on_exit(std::uint32_t local_rank);
  void bind(const local_worker& started, std::uint32_t local_rank) const;
  void log_end(local_worker& ended, const exit_report& report) const;
  [[nodiscard]] expected<spawn_request> request(std::string name, std::uint32_t local_rank, inheritance left) const;

  const local_host_options options_;
  std::atomic<std::uint32_t> launched_{0};
  std::atomic<bool> closed_{false};
  const std::unique_ptr<link_loop> links_;
  /// Last: its thread uses the others.
  const std::unique_ptr<process_host> host_;
};

}  // namespace troupe
