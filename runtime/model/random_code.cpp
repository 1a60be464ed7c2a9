#include "runtime/model/random_code.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;

/// Arguments that decide whether an operator draws, by the names that LibTorch gives them.
constexpr std::array<std::string_view, 2> switches = {"train", "training"};
constexpr std::array<std::string_view, 3> probabilities = {"p", "dropout", "dropout_p"};
constexpr std::array<std::string_view, 4> normalisations = {
    "aten::batch_norm", "aten::native_batch_norm", "aten::_batch_norm_impl_index", "aten::_native_batch_norm_legit"};

void each_node(Block* block, const std::function<void(Node*)>& see) {
  for (Node* node : block->nodes()) {
    see(node);
    for (Block* inner : node->blocks()) each_node(inner, see);
  }
}

/// The value of an argument of these names, where it is known.
template <std::size_t N>
std::optional<c10::IValue> argument(const Node& node, const std::array<std::string_view, N>& names, bool& exists) {
  const auto* schema = node.maybeSchema();
  if (schema == nullptr) return std::nullopt;
  for (std::size_t at = 0; at < schema->arguments().size() && at < node.inputs().size(); ++at) {
    if (std::ranges::find(names, schema->arguments()[at].name()) == names.end()) continue;
    exists = true;
    return torch::jit::toIValue(node.inputs()[at]);
  }
  return std::nullopt;
}

/// It writes them, and the next micro-batch finds others.
bool keeps_statistics(const Node& node) {
  constexpr std::size_t running_mean = 3;
  return node.inputs().size() > running_mean &&
         node.inputs()[running_mean]->type()->isSubtypeOf(*c10::TensorType::get());
}

bool is_normalisation_kind(const Node& node) {
  return std::ranges::find(normalisations, node.kind().toQualString()) != normalisations.end();
}

std::optional<std::string> what_draws(const Node& node) {
  const std::string kind = node.kind().toQualString();
  const bool is_normalisation = is_normalisation_kind(node);
  if (!is_normalisation && !node.isNondeterministic()) return std::nullopt;
  if (is_normalisation && !keeps_statistics(node)) return std::nullopt;
  bool has_switch = false;
  const auto trains = argument(node, switches, has_switch);
  if (has_switch && (!trains || !trains->isBool() || !trains->toBool())) return std::nullopt;
  bool has_probability = false;
  const auto share = is_normalisation ? std::nullopt : argument(node, probabilities, has_probability);
  const bool is_zero = share && share->isDouble() && share->toDouble() == 0;
  // attention draws for its dropout alone; what draws by p without a switch, such as bernoulli, always does
  const bool is_attention = kind.find("attention") != std::string::npos;
  if (is_attention && (!share || is_zero)) return std::nullopt;
  if (has_switch && is_zero) return std::nullopt;
  const std::string what =
      is_normalisation ? "keeps statistics of the micro-batches that it sees: " : "draws random numbers: ";
  return what + kind + (has_switch ? " with training on" : "");
}

/// The first operator of the layer that makes it random, among those that are asked for.
std::optional<std::string> find_first(const layered_graph& graph, std::size_t layer,
                                      const std::function<bool(const Node&)>& is_asked_for) {
  const std::vector<Node*> steps = steps_of(*graph.model().graph);
  std::optional<std::string> found;
  const auto see = [&](Node* node) {
    if (found || !is_asked_for(*node)) return;
    if (const auto what = what_draws(*node)) found = *what + place_in_source(*node);
  };
  for (std::size_t step = graph.layers().at(layer).begin; step < graph.layers()[layer].end; ++step) {
    see(steps[step]);
    for (Block* inner : steps[step]->blocks()) each_node(inner, see);
  }
  return found;
}

}  // namespace

std::optional<std::string> find_random(const layered_graph& graph, std::size_t layer) {
  return find_first(graph, layer, [](const Node&) { return true; });
}

std::optional<std::string> find_kept_statistics(const layered_graph& graph, std::size_t layer) {
  return find_first(graph, layer, is_normalisation_kind);
}

}  // namespace troupe
