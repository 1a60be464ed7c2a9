#include "runtime/training/evaluation_mode.hpp"

#include <cstddef>
#include <string_view>

#include <torch/csrc/jit/ir/constants.h>

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;

/// By the arguments `training` and `train`; without them a normalisation uses the statistics that it has.
bool is_switched_off(const Node& node) {
  const auto* schema = node.maybeSchema();
  for (const char* name : {"training", "train"}) {
    const auto place = schema == nullptr ? std::nullopt : schema->argumentIndexWithName(name);
    if (!place) continue;
    const auto value = torch::jit::toIValue(node.input(static_cast<std::size_t>(*place)));
    return value && value->isBool() && !value->toBool();
  }
  return std::string_view(node.kind().toUnqualString()).find("no_training") != std::string_view::npos;
}

struct switched_off {
  std::size_t normalisations = 0;
  std::size_t dropouts = 0;

  void count(Block& block) {
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) count(*inner);
      const std::string_view name = node->kind().toUnqualString();
      const bool is_normalisation = name.find("batch_norm") != std::string_view::npos;
      const bool is_dropout = name.find("dropout") != std::string_view::npos;
      if ((!is_normalisation && !is_dropout) || !is_switched_off(*node)) continue;
      ++(is_normalisation ? normalisations : dropouts);
    }
  }
};

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

std::vector<std::string> evaluation_mode_of(const layered_graph& graph) {
  switched_off found;
  found.count(*graph.model().graph->block());
  std::string what;
  if (found.normalisations > 0) {
    what = counted(found.normalisations, "batch normalisation keeps its statistics",
                   "batch normalisations keep their statistics");
  }
  if (found.dropouts > 0) {
    what += (what.empty() ? "" : ", and ") + counted(found.dropouts, "dropout does nothing", "dropouts do nothing");
  }
  if (what.empty()) return {};
  return {graph.model().file + " is trained in evaluation mode, where " + what};
}

}  // namespace troupe
