#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "actors/local_stages.hpp"
#include "stepped_engines.hpp"

namespace troupe::testing {

/// Stages that can die: an engine that is never stepped again, with whatever it holds, whose neighbours see silence.
/// The next incarnation is a new engine, started when start_waiting() says so.
class mortal_stages final : public local_stages {
 public:
  using engine_factory = std::function<std::shared_ptr<stage_engine>(stage_address)>;

  mortal_stages(std::shared_ptr<assembly> engines, std::shared_ptr<stepped_engines> host, engine_factory make)
      : local_stages(std::move(engines), host), host_of_all_(std::move(host)), make_(std::move(make)) {}

  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override {
    std::shared_ptr<stage_engine> engine;
    if (incarnation == 0) {
      engine = *std::ranges::find(engines_->stages, at, &stage_engine::address);
    } else {
      engine = make_(at);
    }
    lives_.push_back({at, incarnation, engine});
    auto actor = introduce(engine, director, aggregator, incarnation);
    waiting_.push_back(engine);
    if (incarnation == 0) start_waiting(waiting_.size() - 1);
    return actor;
  }

  /// Incarnations that were asked for and have not started.
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  void start_waiting(std::size_t k) {
    auto engine = std::exchange(waiting_[k], nullptr);
    std::erase(waiting_, nullptr);
    static_cast<void>(host_->start(std::move(engine)));
  }

  [[nodiscard]] std::size_t alive() const { return lives_.size(); }
  /// The k-th of those alive dies, also while it is starting. The engine itself stays: others may ring its bell.
  stage_lost kill(std::size_t k) {
    const life ended = lives_[k];
    lives_.erase(lives_.begin() + static_cast<std::ptrdiff_t>(k));
    std::erase(waiting_, ended.engine);
    for (auto& each : host_of_all_->entries) {
      if (each.driven == ended.engine) each.finished = true;
    }
    ended.engine->listen({});
    graveyard_.push_back(ended.engine);
    return {ended.at, ended.incarnation, {error_code::stage_lost, "a stage", "killed by the test", {}}, std::nullopt};
  }

 private:
  struct life {
    stage_address at;
    incarnation_number incarnation = 0;
    std::shared_ptr<stage_engine> engine;
  };
  const std::shared_ptr<stepped_engines> host_of_all_;
  const engine_factory make_;
  std::vector<life> lives_;
  std::vector<std::shared_ptr<stage_engine>> waiting_;
  std::vector<std::shared_ptr<stage_engine>> graveyard_;
};

}  // namespace troupe::testing
