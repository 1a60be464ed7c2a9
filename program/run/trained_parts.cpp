#include "program/run/trained_parts.hpp"

#include "program/models/layered_model.hpp"
#include "runtime/training/evaluation_mode.hpp"
#include "runtime/training/graph_training_part.hpp"
#include "runtime/training/layer_part.hpp"

namespace troupe {

layered_graph_ptr trained_graph_of(const cut_pipeline& pipeline, const layered_model& model) {
  return pipeline.model.layers() == nullptr ? model.shared_plain() : nullptr;
}

expected<std::unique_ptr<trained_part>> make_trained_part(const cut_pipeline& pipeline, const layered_graph_ptr& graph,
                                                          std::size_t begin, std::size_t end,
                                                          const std::vector<std::string>& absent) {
  if (graph) return make_graph_training_part(graph, begin, end, absent);
  return make_layer_part(*pipeline.model.layers(), begin, end, pipeline.options.training->seed);
}

std::vector<std::string> training_warnings(const cut_pipeline& pipeline, const layered_graph_ptr& graph) {
  if (!graph) return {};
  std::vector<std::string> made = evaluation_mode_of(*graph);
  if (made.empty() && pipeline.model.is_built_in()) {
    made.push_back(graph->model().file + " is trained without dropout: architectures that are built in have none");
  }
  return made;
}

}  // namespace troupe
