#include "runtime/graph/graph_layers.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_set>

#include "runtime/graph/module_scope.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Scope;

/// "a..d" of "a..b" and "c..d"; "a" of "a" and "a".
std::string from_to(const std::string& first, const std::string& last) {
  const std::string begin = first.substr(0, first.find(".."));
  const auto dots = last.rfind("..");
  const std::string end = dots == std::string::npos ? last : last.substr(dots + 2);
  return begin == end ? begin : begin + ".." + end;
}

/// Not only sizes and lists. A size that the tracer has made a tensor is none.
bool makes_tensors(const Node& step) {
  return step.kind() != c10::prim::NumToTensor &&
         std::ranges::any_of(step.outputs(), [](const torch::jit::Value* value) {
           return value->type()->isSubtypeOf(*c10::TensorType::get());
         });
}

/// A run of steps within a module: those of one call of a child, or operators of the module's own.
struct segment {
  std::size_t begin = 0;
  std::size_t end = 0;
  torch::jit::ScopePtr call = nullptr;  ///< of the child; null for operators of its own
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char one) { return std::isdigit(one) != 0; });
}

class layer_search {
 public:
  layer_search(const operator_graph& model, const live_values& live) : live_(live), steps_(steps_of(*model.graph)) {}

  std::vector<graph_layer> run() {
    take_apart(nullptr, {.begin = 0, .end = steps_.size()});
    if (layers_.empty()) layers_.push_back({.name = "model", .type = "model"});  // it gives back its inputs
    merge_uncut();
    return std::move(layers_);
  }

 private:
  /// The call of a child of `of` that the step is part of; null if the step is the module's own, or computes sizes
  /// for it in a module around it.
  [[nodiscard]] torch::jit::ScopePtr child_of(const torch::jit::ScopePtr& of, std::size_t step) const {
    torch::jit::ScopePtr found = nullptr;
    for (torch::jit::ScopePtr at = steps_[step]->scope(); at && !at->isRoot(); at = at->parent()) {
      if (at == of) return found;
      found = at;
    }
    return of == nullptr ? found : nullptr;
  }

  [[nodiscard]] std::vector<segment> segments_of(const torch::jit::ScopePtr& module, std::size_t begin,
                                                 std::size_t end) const {
    std::vector<segment> found;
    for (std::size_t step = begin; step < end; ++step) {
      const auto call = child_of(module, step);
      if (found.empty() || found.back().call != call) found.push_back({step, step, call});
      found.back().end = step + 1;
    }
    return joined_to_next(std::move(found));
  }

  /// Sizes and lists that a module computes between its children belong to what uses them.
  [[nodiscard]] std::vector<segment> joined_to_next(std::vector<segment> all) const {
    std::vector<segment> joined;
    std::optional<std::size_t> begin;
    for (segment& each : all) {
      const bool is_last = &each == &all.back();
      if (each.call == nullptr && !is_last && !makes_tensors_in(each)) {
        if (!begin) begin = each.begin;
        continue;
      }
      each.begin = begin.value_or(each.begin);
      begin.reset();
      joined.push_back(each);
    }
    return joined;
  }

  [[nodiscard]] bool makes_tensors_in(const segment& of) const {
    return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(of.begin),
                       steps_.begin() + static_cast<std::ptrdiff_t>(of.end),
                       [](const Node* step) { return makes_tensors(*step); });
  }

  static std::size_t children_among(const std::vector<segment>& parts) {
    return std::ranges::count_if(parts, [](const segment& one) { return one.call != nullptr; });
  }

  void take_apart(const torch::jit::ScopePtr& module, const segment& all) {
    const std::vector<segment> parts = segments_of(module, all.begin, all.end);
    const bool is_only = children_among(parts) == 1;
    for (const segment& part : parts) {
      const std::vector<segment> inside =
          part.call == nullptr ? std::vector<segment>() : segments_of(part.call, part.begin, part.end);
      if (children_among(inside) > 0 && (is_only || is_open(part, inside))) {
        take_apart(part.call, part);
      } else {
        add(module, part);
      }
    }
  }

  /// Whether a module with children, which are `inside`, is taken apart although its parent calls other ones, too.
  [[nodiscard]] bool is_open(const segment& part, const std::vector<segment>& inside) const {
    if (has_list(part, inside)) return true;
    const std::size_t passing = passing_by(part);
    return std::all_of(inside.begin() + 1, inside.end(),
                       [&](const segment& one) { return live_.tensors_at(one.begin) <= passing + 1; });
  }

  /// How many tensors are in use before and behind a module alike.
  [[nodiscard]] std::size_t passing_by(const segment& part) const {
    const auto behind = live_.at(part.end);
    return std::ranges::count_if(live_.at(part.begin), [&](const torch::jit::Value* value) {
      return value->type()->isSubtypeOf(*c10::TensorType::get()) && std::ranges::find(behind, value) != behind.end();
    });
  }

  /// Whether a module, or one that it calls, calls at least two members of an nn.ModuleList of its own.
  [[nodiscard]] bool has_list(const segment& part, const std::vector<segment>& inside) const {
    const auto in_lists = std::ranges::count_if(
        inside, [&](const segment& one) { return one.call != nullptr && is_of_list(*part.call, *one.call); });
    return in_lists >= 2 || std::ranges::any_of(inside, [&](const segment& one) {
             return one.call != nullptr && has_list(one, segments_of(one.call, one.begin, one.end));
           });
  }

  /// A member of an nn.ModuleList of the module: "layer.3" inside of "encoder".
  static bool is_of_list(const Scope& module, const Scope& child) {
    const std::string above = call_of(module).path;
    std::string path = call_of(child).path;
    if (!above.empty() && path.starts_with(above + ".")) path.erase(0, above.size() + 1);
    const auto dot = path.rfind('.');
    return dot != std::string::npos && is_number(std::string_view(path).substr(dot + 1));
  }

  void add(const torch::jit::ScopePtr& module, const segment& part) {
    graph_layer made{.name = {}, .type = {}, .begin = part.begin, .end = part.end};
    if (part.call != nullptr) {
      const module_call call = call_of(*part.call);
      made.name = call.path.empty() ? "model" : call.path;
      made.type = call.type;
    } else {
      const std::string above = module == nullptr ? std::string() : call_of(*module).path;
      made.type = operators_of(part);
      made.name = above.empty() ? made.type : above + "." + made.type;
    }
    layers_.push_back(std::move(made));
  }

  /// "relu", or "add..relu" for several: those that make tensors, if there are any.
  [[nodiscard]] std::string operators_of(const segment& part) const {
    std::string text;
    for (std::size_t step = part.begin; step < part.end; ++step) {
      const std::string name = steps_[step]->kind().toUnqualString();
      if (makes_tensors(*steps_[step])) text = text.empty() ? name : from_to(text, name);
    }
    return text.empty() ? steps_[part.begin]->kind().toUnqualString() : text;
  }

  void merge_uncut() {
    std::vector<graph_layer> merged;
    for (graph_layer& each : layers_) {
      const auto& objection = live_.objection(each.begin);
      if (merged.empty() || !objection) {
        merged.push_back(std::move(each));
        continue;
      }
      graph_layer& last = merged.back();
      last.name = from_to(last.name, each.name);
      last.type = from_to(last.type, each.type);
      last.end = each.end;
      if (!last.uncut) last.uncut = *objection;
    }
    layers_ = std::move(merged);
  }

  const live_values& live_;
  std::vector<Node*> steps_;
  std::vector<graph_layer> layers_;
};

std::vector<graph_layer> each_step(const operator_graph& model, const live_values& live) {
  const std::vector<Node*> steps = steps_of(*model.graph);
  std::vector<graph_layer> layers;
  bool joins = false;  // sizes and lists belong to what uses them
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const module_call call = steps[at]->scope() ? call_of(*steps[at]->scope()) : module_call{};
    const std::string kind = steps[at]->kind().toUnqualString();
    const bool is_uncut = at > 0 && live.objection(at);
    if (!joins && !is_uncut) layers.push_back({.name = {}, .type = {}, .begin = at, .end = at});
    graph_layer& layer = layers.back();
    if (is_uncut && !layer.uncut) layer.uncut = live.objection(at);
    joins = !makes_tensors(*steps[at]);
    if (!joins || layer.name.empty()) {
      layer.name = call.path.empty() ? kind : call.path + "." + kind;
      layer.type = kind;
    }
    layer.end = at + 1;
  }
  return layers;
}

void count_weights(const operator_graph& model, std::vector<graph_layer>& layers) {
  const std::vector<Node*> steps = steps_of(*model.graph);
  for (graph_layer& layer : layers) {
    std::unordered_set<const c10::TensorImpl*> seen;
    const auto count = [&](const at::Tensor& tensor) {
      const graph_weight* const known = model.weights.find(tensor);
      if (known == nullptr || !seen.insert(tensor.unsafeGetTensorImpl()).second) return;
      if (known->kind == weight_kind::buffer) {
        layer.buffer_bytes += tensor.nbytes();
        return;
      }
      layer.parameters += static_cast<std::uint64_t>(tensor.numel());
      layer.parameter_bytes += tensor.nbytes();
      if (known->kind == weight_kind::trainable) layer.trainable += static_cast<std::uint64_t>(tensor.numel());
    };
    for (std::size_t step = layer.begin; step < layer.end; ++step) each_constant(*steps[step], count);
  }
}

}  // namespace

std::vector<graph_layer> find_layers(const operator_graph& model, const live_values& live, layer_unit between) {
  auto layers = between == layer_unit::operators ? each_step(model, live) : layer_search(model, live).run();
  count_weights(model, layers);
  return layers;
}

std::string title_of(const graph_layer& layer) {
  return layer.name == layer.type ? layer.type : layer.name + " " + layer.type;
}

std::string layer_text(std::size_t index, const graph_layer& layer) {
  return "layer " + std::to_string(index) + " (" + title_of(layer) + ")";
}

}  // namespace troupe
