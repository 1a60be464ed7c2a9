#include "runtime/training/named_state.hpp"

#include <unordered_map>

#include "messages/try.hpp"

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

state_dict weights_of(const trained_part& part, const trained_parameters& values) {
  state_dict made;
  std::size_t at = 0;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (!part.is_copy(name)) made.push_back({name, tensor});
  };
  for (const auto& [name, tensor] : part.parameters()) add(name, values.weight(at++));
  at = 0;
  for (const auto& [name, tensor] : part.buffers()) add(name, values.buffer(at++));
  for (const auto& [name, tensor] : part.constants()) add(name, tensor);
  return made;
}

state_dict moments_of(const trained_part& part, const trained_parameters& values) {
  state_dict made;
  const auto names = moment_names(values.layout().options());
  std::size_t at = 0;
  for (const auto& [name, tensor] : part.parameters()) {
    for (std::size_t moment = 0; moment < names.size() && !part.is_copy(name); ++moment) {
      made.push_back({name + "." + std::string(names[moment]), values.moment(moment, at)});
    }
    ++at;
  }
  return made;
}

expected<void> restore(trained_parameters& values, const trained_part& part, const state_dict& weights,
                       const state_dict& moments, std::uint64_t step) {
  const given_tensors of_weights(weights);
  const given_tensors of_moments(moments);
  std::vector<at::Tensor> parameters;
  for (const auto& [name, tensor] : part.parameters()) {
    parameters.push_back(TROUPE_TRY(of_weights.take(name, tensor)));
  }
  std::vector<at::Tensor> buffers;
  for (const auto& [name, tensor] : part.buffers()) buffers.push_back(TROUPE_TRY(of_weights.take(name, tensor)));
  std::vector<std::vector<at::Tensor>> by_moment;
  for (const std::string_view each : moment_names(values.layout().options())) {
    if (moments.empty()) break;
    auto& of_one = by_moment.emplace_back();
    for (const auto& [name, tensor] : part.parameters()) {
      of_one.push_back(TROUPE_TRY(of_moments.take(name + "." + std::string(each), tensor)));
    }
  }
  return values.restore(parameters, by_moment, buffers, step);
}

}  // namespace troupe
