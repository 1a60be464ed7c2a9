#include "runtime/rewrite/fold_channel_maps.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/library.h>

#include "runtime/rewrite/known_values.hpp"
#include "runtime/rewrite/node_reading.hpp"
#include "runtime/rewrite/weighted_layer.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

/// output = factor x layer's output + shift, both [channels] of float64.
struct channel_map {
  at::Tensor factor;
  at::Tensor shift;
  bool is_normalisation = false;
};

at::Tensor of_rank(const at::Tensor& x, std::int64_t rank) {
  TORCH_CHECK(x.dim() == rank, "this optimized model takes inputs in batches, and a convolution got the sizes ",
              x.sizes(), " where it needs ", rank, " dimensions: run with --optimize none");
  return x;
}

TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def("of_rank(Tensor(a) x, int rank) -> Tensor(a)", of_rank);
}

/// A constant [channels] in the layer's type, as float64; `otherwise` where there is none.
std::optional<at::Tensor> per_channel(const Value* value, const weighted_layer& layer, double otherwise) {
  if (is_none(value)) return at::full({layer.channels()}, otherwise, at::kDouble);
  const auto held = constant_tensor(value);
  const bool fits = held && held->layout() == at::kStrided && held->dim() == 1 && held->size(0) == layer.channels() &&
                    held->scalar_type() == layer.weight.scalar_type();
  return fits ? std::optional(held->to(at::kDouble)) : std::nullopt;
}

/// Where a node has its statistics: aten::batch_norm, and what torch.export lowers it to.
std::optional<std::size_t> epsilon_at(const Node& node) {
  if (has_kind(node, "aten::batch_norm") && constant_bool(node.input(5)) == false) return 7;
  if (!has_kind(node, "aten::_native_batch_norm_legit_no_training")) return std::nullopt;
  const bool is_alone = node.outputs()[1]->uses().empty() && node.outputs()[2]->uses().empty();
  return is_alone ? std::optional<std::size_t>(6) : std::nullopt;
}

std::optional<channel_map> read_normalisation(const Node& node, const weighted_layer& layer) {
  const auto at = epsilon_at(node);
  if (!at || is_none(node.input(3)) || is_none(node.input(4))) return std::nullopt;
  const auto gamma = per_channel(node.input(1), layer, 1);
  const auto beta = per_channel(node.input(2), layer, 0);
  const auto mean = per_channel(node.input(3), layer, 0);
  const auto variance = per_channel(node.input(4), layer, 1);
  const auto epsilon = constant_number(node.input(*at));
  if (!gamma || !beta || !mean || !variance || !epsilon) return std::nullopt;
  // of weights that other layers have as well, some may be there and others not
  for (const auto& each : {gamma, beta, mean, variance}) {
    if (each->is_meta()) return channel_map{*each, *each, true};
  }
  const at::Tensor factor = *gamma / (*variance + *epsilon).sqrt();
  return channel_map{factor, *beta - *mean * factor, true};
}

/// A constant over the channels of the output, whatever the input.
std::optional<at::Tensor> broadcast_constant(const Value* value, const weighted_layer& layer,
                                             const std::optional<std::int64_t>& rank) {
  if (const auto number = constant_number(value)) return at::full({layer.channels()}, *number, at::kDouble);
  const auto held = constant_tensor(value);
  if (!held || held->layout() != at::kStrided || held->scalar_type() != layer.weight.scalar_type()) return std::nullopt;
  // Without batches the output has one dimension less: then one in front of the channels would be added.
  const std::int64_t most = rank.value_or(layer.spatial + 1);
  if (held->dim() > most) return std::nullopt;
  if (held->numel() == 1) return held->reshape({1}).to(at::kDouble).expand({layer.channels()});
  const std::int64_t axis = held->dim() - 1 - layer.spatial;
  if (axis < 0 || held->size(axis) != layer.channels() || held->numel() != layer.channels()) return std::nullopt;
  return held->reshape({layer.channels()}).to(at::kDouble);
}

std::optional<channel_map> read_arithmetic(const Node& node, const Value* output, const weighted_layer& layer,
                                           const std::optional<std::int64_t>& rank) {
  const bool is_product = has_kind(node, "aten::mul");
  const bool is_quotient = has_kind(node, "aten::div") && node.inputs().size() == 2;
  const bool is_sum = has_kind(node, "aten::add");
  const bool is_difference = has_kind(node, "aten::sub");
  if (!is_product && !is_quotient && !is_sum && !is_difference) return std::nullopt;
  const bool is_swapped = node.input(0) != output;
  if (is_swapped && (is_quotient || is_difference)) return std::nullopt;
  const auto constant = broadcast_constant(node.input(is_swapped ? 0 : 1), layer, rank);
  if (!constant) return std::nullopt;
  if (!is_product && !is_quotient && (node.inputs().size() != 3 || constant_number(node.input(2)) != 1)) {
    return std::nullopt;
  }
  if (constant->is_meta()) return channel_map{*constant, *constant};
  const at::Tensor ones = at::ones({layer.channels()}, at::kDouble);
  const at::Tensor zeros = at::zeros_like(ones);
  if (is_product) return channel_map{*constant, zeros};
  if (is_quotient) return channel_map{ones / *constant, zeros};
  return channel_map{ones, is_sum ? *constant : -*constant};
}

class channel_map_folding {
 public:
  channel_map_folding(Graph& graph, rewrite_report& report) : graph_(graph), report_(report) {}

  void run() {
    for (Node* node = *graph_.nodes().begin(); node != graph_.return_node();) {
      Node* const before = node->prev();
      while (fold_next(*node)) {
      }
      known_.note(*node);
      // A layer that has moved down is met there again, with nothing left to fold.
      node = before->next() == node ? node->next() : before->next();
    }
  }

 private:
  bool fold_next(Node& node) {
    const auto layer = read_weighted_layer(node);
    Node* const next = layer ? only_user(node.output()) : nullptr;
    if (next == nullptr || !can_move_down(node, *next)) return false;
    const auto rank = known_.rank(node.input(0));
    auto map = read_normalisation(*next, *layer);
    if (map && node.output() != next->input(0)) return false;
    if (!map) map = read_arithmetic(*next, node.output(), *layer, rank);
    if (!map || (map->is_normalisation && !is_over_channels(*layer, rank))) return false;
    const auto made = scaled(*layer, map->factor, map->shift);
    if (!made) return false;
    if (map->is_normalisation && !rank) ask_for_batches(node, layer->spatial + 2);
    replace(node, *next, *made);
    ++(map->is_normalisation ? report_.folded_normalisations : report_.folded_constants_per_channel);
    return true;
  }

  /// Dimension 1 of the output is the channels; for a convolution of unknown input if that is in batches.
  static bool is_over_channels(const weighted_layer& layer, const std::optional<std::int64_t>& rank) {
    if (layer.spatial == 0) return rank == 2;
    return !rank || *rank == layer.spatial + 2;
  }

  void ask_for_batches(Node& node, std::int64_t rank) {
    torch::jit::WithInsertPoint before(&node);
    Value* const given = node.input(0);
    Node* asked = graph_.create(c10::Symbol::fromQualString("troupe::of_rank"), {given, graph_.insertConstant(rank)});
    graph_.insertNode(asked->copyMetadata(&node));
    asked->output()->setType(c10::TensorType::get());
    given->replaceAllUsesAfterNodeWith(asked, asked->output());
    known_.note(*asked);
  }

  static void replace(Node& node, Node& last, const weighted_layer& layer) {
    node.moveBefore(&last);
    set_weights(node, layer);
    last.output(0)->replaceAllUsesWith(node.output());
    last.destroy();
  }

  Graph& graph_;
  rewrite_report& report_;
  known_values known_;
};

}  // namespace

bool may_be_channel_map(const Node& node) {
  constexpr std::array kinds = {"aten::batch_norm", "aten::_native_batch_norm_legit_no_training",
                                "aten::mul",        "aten::div",
                                "aten::add",        "aten::sub"};
  return std::ranges::any_of(kinds, [&](const char* kind) { return has_kind(node, kind); });
}

void fold_channel_maps(Graph& graph, rewrite_report& report) {
  channel_map_folding(graph, report).run();
}

}  // namespace troupe
