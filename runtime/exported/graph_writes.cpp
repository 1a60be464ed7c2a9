#include "runtime/exported/graph_writes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <unordered_map>

#include "messages/try.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/graph/written_memory.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

/// Which of the kept values a value may share memory with; null for none.
using sharing = std::shared_ptr<const std::set<std::size_t>>;

/// A value that may share memory with more than these counts as one that may with all.
constexpr std::size_t sharing_max = 64;

/// Rounds of a loop in which a carried value still comes to share more. Then it counts as one that may share with all.
constexpr std::size_t rounds_max = 4;

bool has_alias(const c10::Argument& argument) {
  return argument.alias_info() != nullptr;
}

/// The argument itself, or the members of a list.
bool is_written(const c10::AliasInfo& alias) {
  return alias.isWrite() || std::ranges::any_of(alias.containedTypes(), is_written);
}

class write_finder {
 public:
  write_finder(const std::vector<kept_value>& kept, const std::string& where) : kept_(kept), where_(where) {
    std::set<std::size_t> every;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      every.insert(every.end(), i);
      share(kept[i].value, std::make_shared<const std::set<std::size_t>>(std::set{i}));
    }
    all_ = std::make_shared<const std::set<std::size_t>>(std::move(every));
  }

  expected<void> check(Block& block) {
    for (Node* each : block.nodes()) TROUPE_TRY(check_node(*each));
    return {};
  }

 private:
  [[nodiscard]] sharing of(const Value* value) const {
    const auto found = shared_.find(value);
    return found == shared_.end() ? nullptr : found->second;
  }
  void share(const Value* value, const sharing& with) {
    if (!with) return;
    sharing& now = shared_[value];
    now = both(now, with);
  }
  [[nodiscard]] sharing both(const sharing& a, const sharing& b) const {
    if (!a || !b || a == b) return a ? a : b;
    if (std::ranges::includes(*a, *b)) return a;
    std::set<std::size_t> joined = *a;
    joined.insert(b->begin(), b->end());
    return joined.size() > sharing_max ? all_ : std::make_shared<const std::set<std::size_t>>(std::move(joined));
  }

  expected<void> check_node(Node& node) {
    if (node.kind() == c10::prim::If) return check_choice(node);
    if (node.kind() == c10::prim::Loop) return check_loop(node);
    const c10::FunctionSchema* schema = node.maybeSchema();
    const bool is_plain = schema == nullptr || schema->arguments().size() != node.inputs().size() ||
                          schema->returns().size() != node.outputs().size();
    // Lists, and what takes them apart.
    const bool is_silent = node.kind().is_prim() || may_give_back(node);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const sharing with = of(node.input(i));
      if (!with) continue;
      const bool is_viewed = is_plain || is_silent || has_alias(schema->arguments()[i]);
      if (!is_plain && is_viewed && !is_silent && is_written(*schema->arguments()[i].alias_info())) {
        return refuse(node, kept_[*with->begin()]);
      }
      for (std::size_t out = 0; is_viewed && out < node.outputs().size(); ++out) {
        if (is_plain || is_silent || has_alias(schema->returns()[out])) share(node.output(out), with);
      }
    }
    return {};
  }

  expected<void> check_choice(Node& node) {
    for (Block* each : node.blocks()) {
      TROUPE_TRY(check(*each));
      for (std::size_t i = 0; i < node.outputs().size(); ++i) share(node.output(i), of(each->outputs()[i]));
    }
    return {};
  }

  expected<void> check_loop(Node& node) {
    constexpr std::size_t before_carried = 2;  // the most rounds, and whether there is a first
    Block& body = *node.blocks()[0];
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      share(node.output(i), of(node.input(i + before_carried)));
      share(body.inputs()[i + 1], of(node.input(i + before_carried)));
    }
    // What a round gives to the next may reach another carried value with each round.
    for (std::size_t round = 0; round <= rounds_max; ++round) {
      TROUPE_TRY(check(body));
      bool has_grown = false;
      for (std::size_t i = 0; i < node.outputs().size(); ++i) {
        const sharing before = of(body.inputs()[i + 1]);
        share(body.inputs()[i + 1], round + 1 < rounds_max ? of(body.outputs()[i + 1]) : all_);
        share(node.output(i), of(body.inputs()[i + 1]));
        has_grown = has_grown || of(body.inputs()[i + 1]) != before;
      }
      if (!has_grown) break;
    }
    return {};
  }

  [[nodiscard]] expected<void> refuse(const Node& node, const kept_value& target) const {
    return fail(error_code::model_unsupported, where_ + place_in_source(node),
                "the model writes " + target.what + " by " + node.kind().toQualString(), write_fix);
  }

  const std::vector<kept_value>& kept_;
  const std::string& where_;
  sharing all_;
  std::unordered_map<const Value*, sharing> shared_;
};

}  // namespace

expected<void> check_writes(torch::jit::Graph& graph, const std::vector<kept_value>& kept, const std::string& where) {
  return write_finder(kept, where).check(*graph.block());
}

}  // namespace troupe
