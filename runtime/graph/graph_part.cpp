#include "runtime/graph/graph_part.hpp"

#include <unordered_map>

#include <c10/core/DeviceGuard.h>
#include <torch/csrc/jit/ir/constants.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

class part_builder {
 public:
  explicit part_builder(c10::Device device) : made_(std::make_shared<Graph>()), device_(device) {}

  void add_input(Value* value) {
    if (!copies_.contains(value)) copies_.emplace(value, made_->addInput()->copyMetadata(value));
  }

  void add_step(Node* step) {
    Node* const node = made_->insertNode(made_->createClone(step, [this](Value* value) { return copy_of(value); }));
    for (std::size_t at = 0; at < step->outputs().size(); ++at)
      copies_.insert_or_assign(step->outputs()[at], node->outputs()[at]);
  }

  void add_output(Value* value) { made_->registerOutput(copy_of(value)); }

  std::shared_ptr<Graph> take() {
    made_->lint();
    return std::move(made_);
  }

 private:
  Value* copy_of(Value* value) {
    if (const auto known = copies_.find(value); known != copies_.end()) return known->second;
    Node* const maker = value->node();
    if (maker->kind() == prim::Constant) return copies_[value] = constant(*maker);
    TROUPE_CHECK(is_made_again(*value), "what a part uses crosses its begin, or is made from what does");
    Node* const again = made_->createClone(maker, [this](Value* member) { return copy_of(member); });
    return copies_[value] = made_->insertNode(again)->output();
  }

  Value* constant(Node& from) {
    Node* const made = made_->createClone(&from, [](Value* value) { return value; });
    made_->block()->prependNode(made);
    if (!device_.is_cpu()) move(*made);
    return made->output();
  }

  void move(Node& constant) const {
    if (!constant.hasAttribute(c10::attr::value)) return;
    if (constant.kindOf(c10::attr::value) == torch::jit::AttributeKind::t) {
      constant.t_(c10::attr::value, constant.t(c10::attr::value).to(device_));
    } else if (constant.output()->type()->kind() == c10::TypeKind::DeviceObjType) {
      constant.s_(c10::attr::value, device_.str());
    }
  }

  std::shared_ptr<Graph> made_;
  std::unordered_map<const Value*, Value*> copies_;
  c10::Device device_;
};

}  // namespace

graph_part make_part(const operator_graph& model, const live_values& live, std::size_t begin, std::size_t end,
                     c10::Device device) {
  TROUPE_CHECK(begin <= end && end <= live.steps(), "a part is a range of steps");
  const c10::OptionalDeviceGuard current(device.is_cpu() ? std::nullopt : std::optional(device));
  Graph& whole = *model.graph;
  part_builder builder(device);
  if (begin == 0) {
    for (Value* input : whole.inputs()) builder.add_input(input);
  } else {
    for (Value* value : live.at(begin)) builder.add_input(value);
  }
  const std::vector<Node*> steps = steps_of(whole);
  for (std::size_t step = begin; step < end; ++step) builder.add_step(steps[step]);
  if (end == live.steps()) {
    for (Value* output : whole.outputs()) builder.add_output(output);
  } else {
    for (Value* value : live.at(end)) builder.add_output(value);
  }
  return {.graph = builder.take(), .state = model.state};
}

}  // namespace troupe
