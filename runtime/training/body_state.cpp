#include <utility>

#include "messages/try.hpp"
#include "runtime/training/autograd_body.hpp"
#include "runtime/training/named_state.hpp"

namespace troupe {

state_dict autograd_body::weights() const {
  return weights_of(*part_, *state_);
}

state_dict autograd_body::moments() const {
  return moments_of(*part_, *state_);
}

expected<void> autograd_body::load(const state_dict& weights, const state_dict& moments, std::uint64_t step) {
  TROUPE_TRY(restore(*state_, *part_, weights, moments, step));
  use_current_version();
  return {};
}

expected<parameter_layout> layout_of(const trained_part& part, const optimizer_options& optimizer) {
  return parameter_layout::make(part.parameters(), part.buffers(), optimizer, part.ties());
}

expected<std::unique_ptr<autograd_body>> make_training_body(std::unique_ptr<trained_part> part,
                                                            training_body_options options) {
  parameter_layout layout = TROUPE_TRY(layout_of(*part, options.optimizer));
  auto state = options.is_adopted
                   ? TROUPE_TRY(trained_parameters::adopt(std::move(layout), options.memory, options.is_protected))
                   : TROUPE_TRY(trained_parameters::create(std::move(layout), part->parameters(), part->buffers(),
                                                           options.memory, options.is_protected));
  return std::make_unique<autograd_body>(std::move(part), std::move(state), std::move(options));
}

}  // namespace troupe
