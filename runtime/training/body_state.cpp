#include <unordered_map>
#include <utility>

#include <ATen/core/grad_mode.h>

#include "messages/try.hpp"
#include "runtime/training/autograd_body.hpp"

namespace troupe {
namespace {

std::string text_of(at::IntArrayRef sizes) {
  std::string text = "[";
  for (const std::int64_t each : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(each);
  return text + "]";
}

class given_tensors {
 public:
  explicit given_tensors(const state_dict& given) {
    for (const named_tensor& each : given) by_name_.emplace(each.name, &each.tensor);
  }

  [[nodiscard]] expected<at::Tensor> take(const std::string& name, const at::Tensor& like) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return fail(error_code::weights_do_not_fit, name, "it is missing", fix);
    const at::Tensor& given = *found->second;
    if (given.sizes() != like.sizes()) {
      return fail(error_code::weights_do_not_fit, name,
                  "expected the sizes " + text_of(like.sizes()) + ", found " + text_of(given.sizes()), fix);
    }
    return given.detach().to(at::kCPU, like.scalar_type());
  }

 private:
  static constexpr auto fix = "give the weights of this model";
  std::unordered_map<std::string, const at::Tensor*> by_name_;
};

}  // namespace

state_dict autograd_body::weights() const {
  state_dict made;
  const auto add = [&](const named_tensors& all, const auto& value) {
    std::size_t at = 0;
    for (const auto& [name, tensor] : all) made.push_back({name, value(at++)});
  };
  add(part_->parameters(), [&](std::size_t at) { return state_->weight(at); });
  add(part_->buffers(), [&](std::size_t at) { return state_->buffer(at); });
  for (const auto& [name, tensor] : part_->constants()) made.push_back({name, tensor});
  return made;
}

state_dict autograd_body::moments() const {
  state_dict made;
  std::size_t at = 0;
  for (const auto& [name, tensor] : part_->parameters()) {
    std::size_t moment = 0;
    for (const std::string_view each : moment_names(options_.optimizer))
      made.push_back({name + "." + std::string(each), state_->moment(moment++, at)});
    ++at;
  }
  return made;
}

expected<void> autograd_body::load(const state_dict& weights, const state_dict& moments, std::uint64_t step) {
  const given_tensors of_weights(weights);
  const given_tensors of_moments(moments);
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : part_->parameters())
    parameters.push_back(TROUPE_TRY(of_weights.take(name, tensor)));
  std::vector<at::Tensor> buffers;
  for (const auto& [name, tensor] : part_->buffers()) buffers.push_back(TROUPE_TRY(of_weights.take(name, tensor)));
  std::vector<std::vector<at::Tensor>> by_moment;
  for (const std::string_view each :
       moments.empty() ? std::span<const std::string_view>() : moment_names(options_.optimizer)) {
    auto& values = by_moment.emplace_back();
    for (const auto& [name, tensor] : part_->parameters())
      values.push_back(TROUPE_TRY(of_moments.take(name + "." + std::string(each), tensor)));
  }
  TROUPE_TRY(state_->restore(parameters, by_moment, buffers, step));
  use_current_version();
  return {};
}

expected<parameter_layout> layout_of(const trained_part& part, const optimizer_options& optimizer) {
  return parameter_layout::make(part.parameters(), part.buffers(), optimizer);
}

expected<std::unique_ptr<autograd_body>> make_training_body(std::unique_ptr<trained_part> part,
                                                            training_body_options options) {
  parameter_layout layout = TROUPE_TRY(layout_of(*part, options.optimizer));
  auto state = options.is_adopted ? TROUPE_TRY(trained_parameters::adopt(std::move(layout), options.memory))
                                  : TROUPE_TRY(trained_parameters::create(std::move(layout), part->parameters(),
                                                                          part->buffers(), options.memory));
  return std::make_unique<autograd_body>(std::move(part), std::move(state), std::move(options));
}

}  // namespace troupe
