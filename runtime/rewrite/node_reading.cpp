#include "runtime/rewrite/node_reading.hpp"

#include <algorithm>
#include <unordered_set>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using symbol_set = std::unordered_set<c10::Symbol>;

symbol_set symbols(std::initializer_list<const char*> names) {
  symbol_set made;
  for (const char* name : names) made.insert(c10::Symbol::fromQualString(name));
  return made;
}

std::optional<c10::IValue> constant(const Value* value) {
  return value->node()->kind() == c10::prim::Constant ? torch::jit::toIValue(value) : std::nullopt;
}

}  // namespace

std::optional<at::Tensor> constant_tensor(const Value* value) {
  const auto held = constant(value);
  if (!held || !held->isTensor() || !held->toTensor().defined()) return std::nullopt;
  return held->toTensor();
}

std::optional<std::int64_t> constant_int(const Value* value) {
  const auto held = constant(value);
  return held && held->isInt() ? std::optional(held->toInt()) : std::nullopt;
}

std::optional<bool> constant_bool(const Value* value) {
  const auto held = constant(value);
  return held && held->isBool() ? std::optional(held->toBool()) : std::nullopt;
}

std::optional<double> constant_number(const Value* value) {
  const auto held = constant(value);
  if (held && held->isDouble()) return held->toDouble();
  return held && held->isInt() ? std::optional(static_cast<double>(held->toInt())) : std::nullopt;
}

std::optional<std::string> constant_text(const Value* value) {
  const auto held = constant(value);
  return held && held->isString() ? std::optional(held->toStringRef()) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> constant_ints(const Value* value) {
  const auto held = constant(value);
  if (held && held->isIntList()) return held->toIntVector();
  if (value->node()->kind() != c10::prim::ListConstruct) return std::nullopt;
  std::vector<std::int64_t> all;
  for (const Value* each : value->node()->inputs()) {
    const auto number = constant_int(each);
    if (!number) return std::nullopt;
    all.push_back(*number);
  }
  return all;
}

bool is_none(const Value* value) {
  return value->mustBeNone();
}

bool is_tensor(const Value* value) {
  return value->type()->isSubtypeOf(*c10::TensorType::get());
}

bool has_kind(const Node& node, const char* qualified_name) {
  return node.kind() == c10::Symbol::fromQualString(qualified_name);
}

Node* only_user(const Value* value) {
  if (value->uses().size() != 1) return nullptr;
  Node* const user = value->uses().front().user;
  const bool is_beside = user->owningBlock() == value->node()->owningBlock() && user->kind() != c10::prim::Return;
  return is_beside ? user : nullptr;
}

bool may_write(const Node& node) {
  static const symbol_set constructors = symbols({"prim::Constant", "prim::ListConstruct", "prim::TupleConstruct",
                                                  "prim::ListUnpack", "prim::TupleUnpack", "prim::NumToTensor"});
  if (constructors.contains(node.kind())) return false;
  const torch::jit::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || !node.blocks().empty()) return true;
  return std::ranges::any_of(schema->arguments(), [](const c10::Argument& argument) {
    return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
  });
}

bool is_elementwise(const Node& node) {
  static const symbol_set kinds = symbols({"aten::relu", "aten::sigmoid", "aten::tanh", "aten::silu", "aten::hardswish",
                                           "aten::hardsigmoid", "aten::hardtanh", "aten::relu6", "aten::leaky_relu",
                                           "aten::elu", "aten::gelu", "aten::mish", "aten::softplus"});
  return kinds.contains(node.kind()) && is_tensor(node.input(0));
}

bool is_pooling(const Node& node) {
  return has_kind(node, "aten::max_pool2d") || has_kind(node, "aten::avg_pool2d") ||
         has_kind(node, "aten::adaptive_avg_pool2d");
}

bool is_flatten_to_rows(const Node& node) {
  return has_kind(node, "aten::flatten") && constant_int(node.input(1)) == 1 && constant_int(node.input(2)) == -1;
}

bool makes_new_tensor(const Node& node) {
  static const symbol_set kinds = symbols({"aten::conv1d",
                                           "aten::conv2d",
                                           "aten::conv3d",
                                           "aten::conv_transpose1d",
                                           "aten::conv_transpose2d",
                                           "aten::conv_transpose3d",
                                           "aten::_convolution",
                                           "aten::convolution",
                                           "aten::linear",
                                           "aten::addmm",
                                           "aten::mm",
                                           "aten::bmm",
                                           "aten::batch_norm",
                                           "aten::layer_norm",
                                           "aten::softmax",
                                           "aten::add",
                                           "aten::sub",
                                           "aten::mul",
                                           "aten::div",
                                           "aten::mean",
                                           "aten::cat",
                                           "aten::pad",
                                           "aten::constant_pad_nd",
                                           "troupe::linear",
                                           "troupe::convolution"});
  if (kinds.contains(node.kind()) || is_elementwise(node) || is_pooling(node))
    return std::ranges::all_of(node.outputs(), is_tensor);
  // They give no tensor at all.
  return has_kind(node, "aten::size") || has_kind(node, "aten::dim") || has_kind(node, "troupe::is_channels_last");
}

bool can_move_down(const Node& node, const Node& place) {
  for (const Node* between = node.next(); between != &place; between = between->next()) {
    if (between->kind() == c10::prim::Return || may_write(*between)) return false;
  }
  return true;
}

bool can_be_overwritten(const Value* value, const Node& user) {
  const Node* const maker = value->node();
  if (maker->owningBlock() != user.owningBlock() || maker->outputs().size() != 1 || !is_tensor(value)) return false;
  const bool is_own = makes_new_tensor(*maker) || has_kind(*maker, "troupe::convolution_add_");
  return is_own && std::ranges::all_of(value->uses(), [&](const torch::jit::Use& use) {
           return use.user == &user || (use.user->owningBlock() == user.owningBlock() && use.user->isBefore(&user) &&
                                        makes_new_tensor(*use.user));
         });
}

}  // namespace troupe
