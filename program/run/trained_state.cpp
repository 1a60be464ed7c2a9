#include "program/run/trained_state.hpp"

#include <chrono>
#include <thread>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/layer_part.hpp"

namespace troupe {
namespace {

constexpr std::chrono::microseconds look_pause{200};

/// The weights of one stage, as its first replica has them.
class stage_state {
 public:
  [[nodiscard]] static expected<stage_state> open(const checked_run& run, const started_run& stages,
                                                  stage_index stage) {
    const cut_node& part = *run.part_at(stage);
    const cut_options& options = run.parts().pipelines.at(part.pipeline).options;
    const std::vector<std::uint64_t>& boundaries = stages.boundaries.at(part.pipeline);
    stage_state made;
    made.part_ = TROUPE_TRY(make_layer_part(*run.parts().pipelines.at(part.pipeline).model.layers(),
                                            boundaries[part.part], boundaries[part.part + 1], options.training->seed));
    parameter_layout layout = TROUPE_TRY(layout_of(*made.part_, options.training->optimizer));
    auto descriptor = TROUPE_TRY(stages.states.at({stage, 0}).copy());
    const auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), layout.bytes()));
    made.memory_ = std::make_unique<memory_mapping>(TROUPE_TRY(memory.map(0, layout.bytes())));
    made.values_ = TROUPE_TRY(trained_parameters::adopt(std::move(layout), made.memory_->bytes()));
    return made;
  }

  [[nodiscard]] bool has_decided(call_number call) const {
    const auto decided = values_->decided_call();
    return decided && *decided >= call;
  }

  void add_to(state_dict& all) const {
    std::size_t at = 0;
    for (const auto& [name, tensor] : part_->parameters()) all.push_back({name, values_->weight(at++).clone()});
    at = 0;
    for (const auto& [name, tensor] : part_->buffers()) all.push_back({name, values_->buffer(at++).clone()});
    for (const auto& [name, tensor] : part_->constants()) all.push_back({name, tensor});
  }

 private:
  std::unique_ptr<trained_part> part_;
  std::unique_ptr<memory_mapping> memory_;
  std::unique_ptr<trained_parameters> values_;  // goes first
};

}  // namespace

expected<state_dict> trained_weights(const checked_run& run, const started_run& stages,
                                     std::optional<call_number> through) {
  const auto until = std::chrono::steady_clock::now() + limits::control_request_timeout;
  state_dict all;
  for (stage_index stage = 0; stage + 1 < run.plan.nodes.size(); ++stage) {
    const auto state = TROUPE_TRY(stage_state::open(run, stages, stage));
    while (through && !state.has_decided(*through)) {
      if (std::chrono::steady_clock::now() > until) {
        return fail(error_code::stage_unresponsive, run.plan.nodes[stage].name,
                    "it has not carried out the decision of the last step", "look for the stage that is stuck");
      }
      std::this_thread::sleep_for(look_pause);
    }
    state.add_to(all);
  }
  return all;
}

}  // namespace troupe
