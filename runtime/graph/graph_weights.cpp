#include "runtime/graph/graph_weights.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool names_left_out::has(const std::string& name) const {
  return std::ranges::any_of(ends, [&](const std::string& end) { return name.ends_with(end); }) ||
         std::ranges::any_of(modules, [&](const std::string& module) { return name.starts_with(module); });
}

void graph_weights::add(std::string name, at::Tensor tensor, weight_kind kind) {
  by_tensor_.try_emplace(tensor.unsafeGetTensorImpl(), all_.size());
  by_name_.try_emplace(name, all_.size());
  all_.push_back({std::move(name), std::move(tensor), kind});
}

const graph_weight* graph_weights::find(const c10::TensorImpl* tensor) const {
  const auto found = by_tensor_.find(tensor);
  return found == by_tensor_.end() ? nullptr : &all_[found->second];
}

const graph_weight* graph_weights::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &all_[found->second];
}

}  // namespace troupe
