#include "messages/try.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/architecture/weight_reader.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/graph/replace_weights.hpp"
#include <troupe/model.hpp>

namespace troupe {
namespace {

/// As load_state_dict() of PyTorch: values are converted to the types that the model's weights have.
expected<operator_graph> with_state(const operator_graph& model, const model_with_weights& what,
                                    const state_dict& weights) {
  weight_reader reader(what.weights, weights);
  operator_graph made = replace_weights(model, [&](const graph_weight& weight) {
    if (what.not_strict && !reader.sizes_of(weight.name)) return weight.tensor;
    return reader.take(weight.name, weight.tensor.sizes()).to(weight.tensor.scalar_type());
  });
  for (const graph_weight& each : model.weights) reader.ignore(each.name);  // other names of tied weights
  TROUPE_TRY(reader.finish(!what.not_strict));
  return made;
}

}  // namespace

expected<model> load_model(const model_with_weights& what, const model_loading& how, const file_locator& locate) {
  if (what.model.empty()) {
    auto made = TROUPE_TRY(read_built_in(what, locate));
    return model(std::make_shared<const operator_graph>(std::move(made)));
  }
  const std::string file = locate ? locate(what.model).string() : what.model;
  const auto opened = TROUPE_TRY(load_model(file, how));
  if (is_checkpoint_of(what, locate)) {
    auto made = TROUPE_TRY(with_checkpoint(opened.graph(), what, locate));
    return model(std::make_shared<const operator_graph>(std::move(made)));
  }
  const auto weights = TROUPE_TRY(load_weights(what.weights, locate));
  auto made = TROUPE_TRY(with_state(opened.graph(), what, weights));
  return model(std::make_shared<const operator_graph>(std::move(made)));
}

}  // namespace troupe
