#include "runtime/graph/layer_names.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "runtime/graph/bind_inputs.hpp"

namespace troupe {
namespace {

using torch::jit::Node;

bool is_code_layer(const Node& step) {
  static const auto kind = c10::Symbol::fromQualString("troupe::code_layer");
  return step.kind() == kind;
}

class weight_sorter {
 public:
  explicit weight_sorter(const layered_graph& model) : model_(model), paths_(model.layers().size()) {
    const std::vector<Node*> steps = steps_of(*model.model().graph);
    for (std::size_t index = 0; index < paths_.size(); ++index) {
      const graph_layer& layer = model.layers()[index];
      paths_[index] = layer.name;
      for (std::size_t step = layer.begin; step < layer.end; ++step) {
        // layers in code are named by their places
        if (is_code_layer(*steps[step])) paths_[index] = std::to_string(index);
        each_constant(*steps[step],
                      [&](const at::Tensor& one) { reader_.try_emplace(one.unsafeGetTensorImpl(), index); });
      }
    }
  }

  [[nodiscard]] std::vector<layer_names> sort() const {
    std::vector<layer_names> made;
    for (std::size_t index = 0; index < paths_.size(); ++index)
      made.push_back({layer_text(index, model_.layers()[index]), {}});
    std::size_t last = 0;
    for (const graph_weight& each : model_.model().weights) {
      last = layer_of(each, last);
      const std::string& path = paths_[last];
      const bool is_inside = is_part(each.name, path);
      made[last].weights.push_back({is_inside ? each.name.substr(path.size() + 1) : each.name, each.name});
    }
    for (layer_names& each : made) keep_distinct(each);
    return made;
  }

 private:
  static bool is_part(const std::string& name, const std::string& path) {
    return name.size() > path.size() && name.starts_with(path) && name[path.size()] == '.';
  }

  /// `before`: that of the weight before it, for one that nothing reads.
  [[nodiscard]] std::size_t layer_of(const graph_weight& weight, std::size_t before) const {
    std::size_t found = paths_.size();
    for (std::size_t index = 0; index < paths_.size(); ++index) {
      const bool is_closer = found == paths_.size() || paths_[index].size() > paths_[found].size();
      if (is_closer && is_part(weight.name, paths_[index])) found = index;
    }
    if (found < paths_.size()) return found;
    const auto reader = reader_.find(weight.tensor.unsafeGetTensorImpl());
    return reader == reader_.end() ? before : reader->second;
  }

  static void keep_distinct(layer_names& layer) {
    std::unordered_set<std::string_view> keys;
    const bool are_distinct =
        std::ranges::all_of(layer.weights, [&](const layer_weight_name& each) { return keys.insert(each.key).second; });
    if (are_distinct) return;
    for (layer_weight_name& each : layer.weights) each.key = each.name;
  }

  const layered_graph& model_;
  std::vector<std::string> paths_;
  std::unordered_map<const c10::TensorImpl*, std::size_t> reader_;
};

}  // namespace

std::vector<layer_names> weights_by_layer(const layered_graph& model) {
  return weight_sorter(model).sort();
}

std::vector<layer_names> weights_by_layer(const operator_graph& model) {
  operator_graph copy = model;
  copy.graph = model.graph->copy();
  bind_inputs(copy, {});
  return weights_by_layer(layered_graph(std::move(copy), layer_unit::modules));
}

}  // namespace troupe
