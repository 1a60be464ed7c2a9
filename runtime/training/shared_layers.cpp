#include "runtime/training/shared_layers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace troupe {
namespace {

void add_shared(shared_layers& into, std::vector<std::size_t> users) {
  if (users.size() > 1) into.push_back(std::move(users));
}

}  // namespace

std::map<const c10::TensorImpl*, std::vector<std::size_t>> users_of_constants(const layered_graph& graph) {
  std::map<const c10::TensorImpl*, std::vector<std::size_t>> users;
  const std::vector<torch::jit::Node*> steps = steps_of(*graph.model().graph);
  for (std::size_t layer = 0; layer < graph.layers().size(); ++layer) {
    for (std::size_t step = graph.layers()[layer].begin; step < graph.layers()[layer].end; ++step) {
      each_constant(*steps[step], [&](const at::Tensor& each) {
        auto& layers = users[each.unsafeGetTensorImpl()];
        if (layers.empty() || layers.back() != layer) layers.push_back(layer);
      });
    }
  }
  return users;
}

bool is_trained(const graph_weight& weight) {
  return weight.kind == weight_kind::trainable && weight.tensor.is_floating_point();
}

shared_layers shared_layers_of(const std::vector<layer_spec>& specs) {
  std::map<std::string, std::vector<std::size_t>> by_key;
  for (std::size_t index = 0; index < specs.size(); ++index) {
    if (specs[index].tie()) by_key[*specs[index].tie()].push_back(index);
  }
  shared_layers made;
  for (auto& [key, users] : by_key) add_shared(made, std::move(users));
  return made;
}

shared_layers shared_layers_of(const layered_graph& graph) {
  auto users = users_of_constants(graph);
  shared_layers made;
  for (const graph_weight& each : graph.model().weights) {
    const auto found = users.find(each.tensor.unsafeGetTensorImpl());
    if (found == users.end() || !is_trained(each)) continue;
    add_shared(made, std::move(found->second));
    users.erase(found);
  }
  return made;
}

std::vector<tied_stages> tied_parts(const shared_layers& shared, const std::vector<std::size_t>& boundaries) {
  const auto part_of = [&](std::size_t layer) {
    return static_cast<stage_index>(std::ranges::upper_bound(boundaries, layer) - boundaries.begin() - 1);
  };
  std::set<tied_stages> found;
  for (const std::vector<std::size_t>& layers : shared) {
    std::set<stage_index> parts;
    for (const std::size_t each : layers) parts.insert(part_of(each));
    for (auto one = parts.begin(); one != parts.end(); ++one) {
      for (auto other = std::next(one); other != parts.end(); ++other) found.insert({*one, *other});
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace troupe
