#include <utility>

#include "program/plan/crossing_json.hpp"
#include "program/plan/model_drawing.hpp"

namespace troupe {
namespace {

using nlohmann::ordered_json;

ordered_json layer_json(const drawn_layer& layer) {
  return {{"name", layer.name},
          {"type", layer.type},
          {"parameters", layer.parameters},
          {"trainable", layer.trainable},
          {"weight_bytes", layer.weight_bytes},
          {"inputs", layer.inputs},
          {"outputs", layer.outputs},
          {"uncut", text_or_null(layer.uncut)},
          {"cut_before", crossing_json(layer.before)}};
}

}  // namespace

std::string drawing_json(const drawn_model& model) {
  ordered_json layers = ordered_json::array();
  for (const drawn_layer& each : model.layers) layers.push_back(layer_json(each));
  const ordered_json object = {{"model", model.file},
                               {"data", text_or_null(model.data)},
                               {"layers", std::move(layers)},
                               {"not_repeatable", model.not_repeatable}};
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace troupe
