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

/// The provider of a run whose stages are in worker processes (worker_setup::is_remote); some may be in this process.
/// worker_setup::edges makes the edges between two processes. Every epoch gets fresh edges. Owned by the director's
/// state. Threads: only the director's actor.
///
/// If start() is called for the same address again, the new actor takes the place of the one before, and gets edges in
/// the next epoch. wire() fails if an edge with an end in this process cannot be made. If a worker cannot be told of
/// its edges, the worker is killed, and new edges are made for its successor. `instance` and `channel` are positions in
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
  /// The edges of one epoch while they are made. `present` is by instance, the others by channel: `local` has the edges
  /// within this process, `offers` all others.
  struct epoch_edges {
    epoch_number epoch = 0;
    std::vector<bool> present;
    std::map<std::size_t, edge_offer> offers;
    std::map<std::size_t, edge_ends> local;
  };

  [[nodiscard]] std::unique_ptr<edge_consumer> checked(std::unique_ptr<edge_consumer> end, std::size_t channel) const;
  /// The micro-batches that the loader has sent.
  [[nodiscard]] std::shared_ptr<const handed_out> sent() const;
  /// The loader's page; nothing if worker_setup::local_pages has none.
  [[nodiscard]] std::optional<shared_page> loader_page() const;
  /// For the channels of the instance whose other end is in a worker, a function that kills that worker.
  [[nodiscard]] std::map<std::size_t, std::function<void(const error&)>> peers_of(
      std::size_t instance, const std::vector<bool>& present) const;
  [[nodiscard]] bool is_remote(std::size_t instance) const;
  [[nodiscard]] expected<void> make_edges(epoch_edges& edges);
  [[nodiscard]] edge_reach reach_of(std::size_t channel) const;
  [[nodiscard]] expected<engine_wiring> wire_here(epoch_edges& edges, std::size_t instance);
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> consumer_here(epoch_edges& edges, std::size_t channel);
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> producer_here(epoch_edges& edges, std::size_t channel);
  /// The site of the channel's end in this process, at the instance `here`. The other end is at the instance `there`.
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
  /// The director, which is told of lost edges. This provider is part of its state, and must not keep it alive.
  std::optional<weak_actor<director_actor>> director_;
};

/// The tag under which two blobs are handed to a worker: the memory of a channel, and the page of the engine at the
/// other end.
[[nodiscard]] std::string edge_tag(epoch_number epoch, std::size_t channel);

}  // namespace troupe
