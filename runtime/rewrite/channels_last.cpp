#include "runtime/rewrite/channels_last.hpp"

#include <algorithm>
#include <unordered_map>

#include <torch/csrc/jit/ir/constants.h>

#include "runtime/rewrite/convolution_runs.hpp"
#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool is_sum(const Node& node) {
  return has_kind(node, "aten::add") && node.inputs().size() == 3 && is_tensor(node.input(1)) &&
         is_tensor(node.output());
}

class channels_last_rewrite {
 public:
  channels_last_rewrite(Graph& graph, convolution_runs& runs, rewrite_report& report)
      : graph_(graph), runs_(runs), report_(report) {}

  void rewrite() {
    // A node of either kind goes only when its own turn comes.
    for (Node* sum : members_that(is_sum)) join_sum(*sum);
    for (Node* node : members_that([](const Node& one) { return read_convolution(one).has_value(); })) {
      replace_convolution(*node, nullptr);
    }
    for (Node* node : members_that([&](const Node& one) { return runs_.entry(one.outputs()[0]) != nullptr; })) {
      if (const auto strangers = runs_.strangers(*node->output()); !strangers.empty()) restore(*node, strangers);
    }
  }

 private:
  template <typename Condition>
  std::vector<Node*> members_that(const Condition& condition) const {
    std::vector<Node*> found = runs_.members();
    std::erase_if(found, [&](const Node* node) { return !condition(*node); });
    return found;
  }

  void join_sum(Node& sum) {
    if (constant_number(sum.input(2)) != 1) return;
    const bool is_right_later = sum.input(1)->node()->isAfter(sum.input(0)->node()) && sum.input(0) != sum.input(1);
    for (const std::size_t index : {is_right_later ? 1u : 0u, is_right_later ? 0u : 1u}) {
      Node& convolution = *sum.input(index)->node();
      Value* const skip = sum.input(1 - index);
      const bool can_join = runs_.has(convolution) && read_convolution(convolution) &&
                            only_user(convolution.output()) == &sum && can_move_down(convolution, sum) &&
                            skip != convolution.input(0) && can_be_overwritten(skip, sum);
      if (!can_join) continue;
      replace_convolution(convolution, &sum);
      return;
    }
  }

  /// `sum` is null for a convolution alone.
  void replace_convolution(Node& node, Node* sum) {
    Node* last = sum != nullptr ? sum : &node;
    Node* const user = only_user(last->output());
    const bool has_relu = user != nullptr && has_kind(*user, "aten::relu") && can_move_down(node, *user);
    if (has_relu) last = user;
    torch::jit::WithInsertPoint before(last);
    std::vector<Value*> inputs = {node.input(0), graph_.insertConstant(pack_convolution(*read_convolution(node))),
                                  graph_.insertConstant(has_relu)};
    if (sum != nullptr) {
      inputs.insert(inputs.begin(), sum->input(0) == node.output() ? sum->input(1) : sum->input(0));
      ++report_.additions_in_place;
    }
    const char* const kind = sum != nullptr ? "troupe::convolution_add_" : "troupe::convolution";
    Node* made = graph_.create(c10::Symbol::fromQualString(kind), inputs);
    made->copyMetadata(sum != nullptr ? last : &node);
    graph_.insertNode(made);
    made->output()->setType(c10::TensorType::get());
    runs_.add(*made, runs_.entry(last->output()));
    last->output()->replaceAllUsesWith(made->output());
    if (has_relu) forget(*user);
    if (sum != nullptr) forget(*sum);
    forget(node);
    ++report_.packed_convolutions;
    report_.joined_relus += has_relu ? 1 : 0;
  }

  void forget(Node& node) {
    runs_.remove(node);
    node.destroy();
  }

  /// Gives the users of a value that are of no run the order of the plain graph.
  void restore(Node& maker, const std::vector<torch::jit::Use>& strangers) {
    Value* const entry = runs_.entry(maker.output());
    const auto [order, is_first] = order_of_entry_.try_emplace(entry, nullptr);
    if (is_first) order->second = insert_order(*entry);
    Node* made = graph_.create(c10::Symbol::fromQualString("troupe::plain_order"), {maker.output(), order->second});
    made->copyMetadata(&maker)->insertAfter(&maker);
    made->output()->setType(c10::TensorType::get());
    for (const torch::jit::Use& use : strangers) use.user->replaceInput(use.offset, made->output());
  }

  /// Asked where the run begins, so that only a number is kept of its entry.
  Value* insert_order(Value& entry) {
    const auto reads_entry = [&](const Node& node) {
      const auto inputs = node.inputs();
      return std::find(inputs.begin(), inputs.end(), &entry) != inputs.end();
    };
    Node* const first = members_that(reads_entry).front();
    Node* made = graph_.create(c10::Symbol::fromQualString("troupe::is_channels_last"), {&entry});
    made->copyMetadata(first)->insertBefore(first);
    made->output()->setType(c10::IntType::get());
    return made->output();
  }

  Graph& graph_;
  convolution_runs& runs_;
  rewrite_report& report_;
  std::unordered_map<const Value*, Value*> order_of_entry_;
};

}  // namespace

void use_channels_last(const std::shared_ptr<Graph>& graph, rewrite_report& report) {
  if (!can_pack_convolutions()) return;
  convolution_runs runs(*graph);
  if (runs.is_empty() || runs.may_be_written(graph)) return;
  channels_last_rewrite(*graph, runs, report).rewrite();
}

}  // namespace troupe
