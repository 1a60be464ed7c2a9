#include "actors/local_stages.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {

expected<stage_actor> local_stages::start(director_actor::pointer director, const aggregator_actor& aggregator,
                                          stage_address at, incarnation_number incarnation) {
  const auto found = std::ranges::find(engines_->stages, at, &compute_engine::address);
  if (found == engines_->stages.end() || incarnation > 0) {
    return fail(error_code::stage_lost, "stage " + std::to_string(at.stage),
                "it lives in the process of the run and cannot be started again");
  }
  stage_actor actor = introduce(*found, director, aggregator, incarnation);
  TROUPE_TRY(host_->start(*found));
  return actor;
}

stage_actor local_stages::introduce(std::shared_ptr<compute_engine> engine, director_actor::pointer director,
                                    const aggregator_actor& aggregator, incarnation_number incarnation) {
  const director_actor directs{director};
  local_stage_actor actor = director->spawn<caf::monitored>(stage, engine, directs, incarnation);
  engine->listen(report_to(directs, aggregator, *engine, incarnation));
  const stage_address at = engine->address();
  members_[at] = {std::move(engine), actor};
  return stage_actor{actor};
}

doorbell& local_stages::bell_of(std::size_t instance) {
  if (instance == source()) return engines_->loader->bell();
  return members_.at(engines_->plan.instances[instance].address).engine->bell();
}

std::vector<bool> local_stages::present_in(const epoch_request& round) const {
  std::vector<bool> present(engines_->plan.instances.size(), false);
  present[source()] = true;
  for (const stage_address& each : round.present) present[engines_->plan.instance_at(each)] = true;
  return present;
}

expected<std::shared_ptr<engine_wiring>> local_stages::wire(const epoch_request& round) {
  const wiring_plan& plan = engines_->plan;
  auto wired = make_wiring(plan, *engines_->edges,
                           {.depths = engines_->depths,
                            .present = present_in(round),
                            .bell = [&](std::size_t instance) -> doorbell& { return bell_of(instance); }});
  for (const stage_address& each : round.present) {
    auto edges = std::make_shared<engine_wiring>(std::move(wired[plan.instance_at(each)]));
    post(members_.at(each).actor, start_stage_epoch{std::move(edges), round.from, round.epoch});
  }
  return std::make_shared<engine_wiring>(std::move(wired[source()]));
}

}  // namespace troupe
