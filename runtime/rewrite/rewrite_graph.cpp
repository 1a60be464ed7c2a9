#include "runtime/rewrite/rewrite_graph.hpp"

#include <ATen/core/grad_mode.h>

#include "runtime/rewrite/channels_last.hpp"
#include "runtime/rewrite/constant_folding.hpp"
#include "runtime/rewrite/fold_channel_maps.hpp"
#include "runtime/rewrite/linear_form.hpp"
#include "runtime/rewrite/simplify.hpp"
#include "runtime/rewrite/whole_vectors.hpp"

namespace troupe {

rewrite_report rewrite_graph(operator_graph& model, rewrite_target target) {
  rewrite_report report;
  if (model.state) return report;
  const at::NoGradGuard no_gradients;
  torch::jit::Graph& graph = *model.graph;
  // Folding relies on LibTorch's analysis of who shares memory, which dropout in eval mode escapes.
  simplify(graph, report);
  fold_constants(model.graph, report);
  simplify(graph, report);
  remove_unread(graph, report);
  if (may_write_constants(model.graph)) return report;
  if (target == rewrite_target::cpu) use_linear_form(graph);
  fold_channel_maps(graph, report);
  if (target == rewrite_target::cpu) {
    use_channels_last(model.graph, report);
    pack_linears(graph, report);
    use_whole_vectors(graph, report);
  }
  // Weights that have been replaced.
  remove_unread(graph, report);
  graph.lint();
  return report;
}

}  // namespace troupe
