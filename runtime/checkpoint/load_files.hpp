#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint_layout.hpp"
#include "runtime/graph/layer_names.hpp"
#include "runtime/graph/operator_graph.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

struct layer_state {
  std::size_t layer = 0;
  state_dict weights;
};

/// The layers of a tag, in order, keys as in the files. Errors: load_weights(), and E0210 for a checkpoint that another
/// one takes the place of meanwhile.
expected<std::vector<layer_state>> load_layers(const tag_folder& from, const file_locator& locate = {});
/// The states beside the layers, those of the client; none where there is no such file.
expected<loaded_checkpoint> load_states(const tag_folder& from);

/// The layers' tensors by the names of the model's state dict. Keys that the layer does not have come with a name that
/// no model has: "layer 3 (fc Linear): KEY". E0218 for a layer that the model does not have.
expected<state_dict> by_model_names(const tag_folder& from, std::vector<layer_state> layers,
                                    const std::vector<layer_names>& model);

/// The way back: the state dict of a model as the files of its layers have it.
std::vector<state_dict> split_by_layer(const std::vector<layer_names>& model, const state_dict& state);

/// What load_state_dict() does with a model: all weights of the model's table, in its order, in the model's types and
/// strides. A weight with several names has the value of the first that `given` has. Those that `given` lacks keep
/// their values where it is not `strict`, unless `given` has none of them at all. E0218 lists all that is missing or
/// unexpected or of another size, with the layer's number and name.
expected<state_dict> fitted_state(const graph_weights& model, const std::vector<layer_names>& layers,
                                  const state_dict& given, bool strict, const std::string& where);
/// A copy of the model with the values of fitted_state().
operator_graph with_values(const operator_graph& model, const state_dict& fitted);

/// A model with the weights of a checkpoint. Errors: all above.
expected<operator_graph> with_checkpoint(const operator_graph& model, const model_with_weights& what,
                                         const file_locator& locate = {});
/// The files that a checkpoint's weights are in, and `latest`, as far as they are there.
std::vector<std::filesystem::path> files_of_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                       const file_locator& locate = {});

}  // namespace troupe
