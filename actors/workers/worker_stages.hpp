#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/local_stages.hpp"
#include "actors/workers/remote_stage.hpp"
#include "runtime/edge/checked_consumer.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

/// Stages in worker processes (worker_setup::is_remote), and beside them those that were kept in this one. Edges
/// between two processes are worker_setup::edges. Each epoch, and so each incarnation, gets fresh edges. Owned by the
/// director's state. Threads: the director's actor alone.
///
/// start() for the same address again: the new actor takes the place of the one before, and gets the next epoch's
/// edges. wire() fails where an edge with an end in this process cannot be made. A worker that cannot be told of its
/// edges is killed instead, and new edges come with its successor. `instance` and `channel` are positions in
/// wiring_plan.
class worker_stages final : public local_stages {
 public:
  worker_stages(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host,
                std::shared_ptr<worker_setup> setup, std::shared_ptr<worker_registry> registry, pool_finder pools);

  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override;
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) override;
  [[nodiscard]] bool end(stage_address at, const error& why) override;

 private:
  /// One epoch in the making. `present` is by instance. `local` has both ends of the channels within this process,
  /// `offers` the other channels.
  struct epoch_edges {
    epoch_number epoch = 0;
    std::vector<bool> present;
    std::map<std::size_t, edge_offer> offers;
    std::map<std::size_t, edge_ends> local;
  };

  [[nodiscard]] std::unique_ptr<edge_consumer> checked(std::unique_ptr<edge_consumer> end, std::size_t channel) const;
  /// What the loader has sent.
  [[nodiscard]] std::shared_ptr<const handed_out> sent() const;
  /// Nothing where worker_setup::local_pages has none for the loader.
  [[nodiscard]] std::optional<shared_page> loader_page() const;
  /// By channel of the instance whose other end is in a worker: kills that worker.
  [[nodiscard]] std::map<std::size_t, std::function<void(const error&)>> peers_of(
      std::size_t instance, const std::vector<bool>& present) const;
  [[nodiscard]] bool is_remote(std::size_t instance) const;
  [[nodiscard]] expected<void> make_edges(epoch_edges& edges);
  [[nodiscard]] edge_reach reach_of(std::size_t channel) const;
  [[nodiscard]] expected<engine_wiring> wire_here(epoch_edges& edges, std::size_t instance);
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> consumer_here(epoch_edges& edges, std::size_t channel);
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> producer_here(epoch_edges& edges, std::size_t channel);
  /// The site of the end at `here`, in this process; the other end is at `there`.
  [[nodiscard]] expected<edge_site> site_of(const epoch_edges& edges, std::size_t channel, std::size_t here,
                                            std::size_t there);
  [[nodiscard]] edge_contact edge_contact_of(std::size_t instance) const;
  [[nodiscard]] std::string node_of(std::size_t instance) const;
  void wire_there(const epoch_edges& edges, std::size_t instance, wiring_order order);
  [[nodiscard]] expected<void> offer_edges(const epoch_edges& edges, std::size_t instance, wiring_order& order,
                                           hosted_worker& to) const;
  [[nodiscard]] std::function<void(const error&)> kill_switch_of(std::size_t instance) const;
  [[nodiscard]] registered_worker worker_of(std::size_t instance) const;
  [[nodiscard]] blob page_of(std::size_t instance) const;

  const std::shared_ptr<worker_setup> setup_;
  const std::shared_ptr<worker_registry> registry_;
  const pool_finder pools_;
  std::map<stage_address, remote_stage_actor> stage_actors_;
  /// Hears of silent edges. The provider lives in its state.
  std::optional<weak_actor<director_actor>> director_;
};

/// The name under which two blobs come to a worker: the memory of a channel, then the page of the engine at its other
/// end.
[[nodiscard]] std::string edge_tag(epoch_number epoch, std::size_t channel);

}  // namespace troupe
