#pragma once

#include <map>
#include <memory>
#include <vector>

#include "actors/engine_host.hpp"
#include "actors/stage.hpp"
#include "actors/stage_provider.hpp"
#include "runtime/wiring/assembly.hpp"

namespace troupe {

/// The provider of a run whose stages are all engines of this process. No stage dies alone, so none is started twice.
class local_stages : public stage_provider {
 public:
  local_stages(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host)
      : engines_(std::move(engines)), host_(std::move(host)) {}

  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override;
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> wire(const epoch_request& round) override;
  [[nodiscard]] bool end(stage_address, const error&) override { return false; }

 protected:
  /// Gives the engine its actor; it must not have been started.
  [[nodiscard]] stage_actor introduce(std::shared_ptr<compute_engine> engine, director_actor::pointer director,
                                      const aggregator_actor& aggregator, incarnation_number incarnation);

  struct member {
    std::shared_ptr<compute_engine> engine;
    local_stage_actor actor;
  };
  /// The bell of an engine of this process: the loader's, or a stage's.
  [[nodiscard]] doorbell& bell_of(std::size_t instance);
  [[nodiscard]] std::size_t source() const { return engines_->plan.instance_at(engines_->loader->address()); }
  /// By instance, whether it takes part in the epoch. The source always does.
  [[nodiscard]] std::vector<bool> present_in(const epoch_request& round) const;

  const std::shared_ptr<assembly> engines_;
  const std::shared_ptr<engine_host> host_;
  std::map<stage_address, member> members_;
};

}  // namespace troupe
