#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/local_stages.hpp"
#include "actors/workers/remote_stage.hpp"
#include "runtime/edge/checked_consumer.hpp"
#include "runtime/edge/shm/shm_edge.hpp"

namespace troupe {

/// Stages in worker processes, and beside them those that were kept in this one. Edges between two processes are in
/// shared memory or tcp connections; each epoch, and so each incarnation, gets fresh memory.
class worker_stages final : public local_stages {
 public:
  worker_stages(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host,
                std::shared_ptr<worker_setup> setup, std::shared_ptr<worker_registry> registry, worker_pool_actor pool);

  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override;
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) override;

 private:
  /// One epoch in the making. By channel: its memory, or both ends within this process.
  struct epoch_edges {
    epoch_number epoch = 0;
    std::vector<bool> present;
    std::map<std::size_t, unique_fd> memories;
    std::map<std::size_t, edge_ends> local;
  };

  [[nodiscard]] std::unique_ptr<edge_consumer> checked(std::unique_ptr<edge_consumer> end, std::size_t channel) const;
  /// What the loader has sent.
  [[nodiscard]] std::shared_ptr<const handed_out> sent() const;
  [[nodiscard]] std::optional<shared_page> loader_page() const;
  [[nodiscard]] std::map<std::size_t, std::function<void(const error&)>> peers_of(
      std::size_t instance, const std::vector<bool>& present) const;
  [[nodiscard]] bool is_remote(std::size_t instance) const;
  [[nodiscard]] expected<void> make_edges(epoch_edges& edges);
  [[nodiscard]] expected<engine_wiring> wire_here(epoch_edges& edges, std::size_t instance);
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> consumer_here(epoch_edges& edges, std::size_t channel);
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> producer_here(epoch_edges& edges, std::size_t channel);
  [[nodiscard]] edge_options tcp_shape(std::size_t channel, std::size_t instance);
  [[nodiscard]] tcp_ends::loss_handler tell_of_losses() const;
  [[nodiscard]] std::uint16_t edge_port_of(std::size_t instance) const;
  void wire_there(const epoch_edges& edges, std::size_t instance, const wiring_order& order);
  [[nodiscard]] expected<void> send_edges(const epoch_edges& edges, std::size_t instance, const wiring_order& order,
                                          worker_process& to) const;
  [[nodiscard]] shm_end end_towards(std::size_t instance) const;
  [[nodiscard]] shared_page page_of(std::size_t instance) const;

  const std::shared_ptr<worker_setup> setup_;
  const std::shared_ptr<worker_registry> registry_;
  const worker_pool_actor pool_;
  std::map<stage_address, remote_stage_actor> stage_actors_;
  /// Hears of silent edges. The provider lives in its state.
  std::optional<weak_actor<director_actor>> director_;
};

/// The tag under which the memory of a channel and the page of the engine at its other end come to a worker.
[[nodiscard]] std::string edge_tag(epoch_number epoch, std::size_t channel);

}  // namespace troupe
