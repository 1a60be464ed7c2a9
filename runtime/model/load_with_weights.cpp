#include "messages/try.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include <troupe/model.hpp>

namespace troupe {
namespace {

expected<operator_graph> with_state(const operator_graph& model, const model_with_weights& what,
                                    const state_dict& weights) {
  const auto fitted = TROUPE_TRY(fitted_state(model.weights, {}, weights, !what.not_strict, what.weights));
  return with_values(model, fitted);
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
