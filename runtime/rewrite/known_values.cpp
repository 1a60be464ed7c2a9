#include "runtime/rewrite/known_values.hpp"

#include <algorithm>

#include "runtime/rewrite/node_reading.hpp"
#include "runtime/rewrite/weighted_layer.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool is_arithmetic(const Node& node) {
  return has_kind(node, "aten::add") || has_kind(node, "aten::sub") || has_kind(node, "aten::mul") ||
         has_kind(node, "aten::div");
}

/// Neither the number of dimensions nor the type differs between the first input and the output.
bool keeps_form(const Node& node) {
  return is_elementwise(node) || is_pooling(node) || has_kind(node, "aten::batch_norm") ||
         has_kind(node, "aten::layer_norm") || has_kind(node, "aten::contiguous") ||
         has_kind(node, "aten::transpose") || has_kind(node, "aten::slice") || has_kind(node, "aten::pad");
}

/// The length of the list of sizes of a view.
std::optional<std::int64_t> view_rank(const Node& node) {
  const bool is_view = has_kind(node, "aten::view") || has_kind(node, "aten::reshape");
  if (!is_view || node.inputs().size() != 2) return std::nullopt;
  const Node& sizes = *node.input(1)->node();
  if (sizes.kind() == c10::prim::ListConstruct) return static_cast<std::int64_t>(sizes.inputs().size());
  const auto held = constant_ints(node.input(1));
  return held ? std::optional(static_cast<std::int64_t>(held->size())) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> known_values::rank(const Value* value) const {
  if (const auto tensor = constant_tensor(value)) return tensor->dim();
  const auto found = ranks_.find(value);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

bool known_values::is_float32(const Value* value) const {
  if (const auto tensor = constant_tensor(value)) return tensor->scalar_type() == at::kFloat;
  return float32_.contains(value);
}

void known_values::note(const Node& node) {
  if (node.outputs().size() != 1 || node.inputs().empty() || !is_tensor(node.output())) return;
  note_rank(node);
  if (gives_float32(node)) float32_.insert(node.output());
}

void known_values::note_rank(const Node& node) {
  std::optional<std::int64_t> found;
  if (keeps_form(node) || read_weighted_layer(node)) {
    found = rank(node.input(0));
  } else if (is_flatten_to_rows(node) || has_kind(node, "aten::mm") || has_kind(node, "aten::addmm")) {
    found = 2;
  } else if (is_arithmetic(node)) {
    const auto left = rank(node.input(0));
    const auto right = is_tensor(node.input(1)) ? rank(node.input(1)) : left;
    if (left && right) found = std::max(*left, *right);
  } else if (has_kind(node, "troupe::of_rank")) {
    found = constant_int(node.input(1));
  } else {
    found = view_rank(node);
  }
  if (found) ranks_[node.output()] = *found;
}

bool known_values::gives_float32(const Node& node) const {
  // With weights of one type the input and the output have that type, or the operator refuses.
  if (const auto layer = read_weighted_layer(node)) return layer->weight.scalar_type() == at::kFloat;
  if (keeps_form(node) || is_flatten_to_rows(node)) return is_float32(node.input(0));
  if (!is_arithmetic(node)) return false;
  if (is_tensor(node.input(1))) return is_float32(node.input(0)) && is_float32(node.input(1));
  return is_float32(node.input(0)) && constant_number(node.input(1)).has_value();
}

}  // namespace troupe
