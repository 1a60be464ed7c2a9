#pragma once

#include <vector>

#include "runtime/weights/pickled_tensors.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// Whether a value is a dict or an OrderedDict.
bool is_dict(const pickled_values& values, const pickled& value);

struct pickled_member {
  pickled key;
  pickled value;
};
/// The members of a dict or an OrderedDict, in order. E0210 for an OrderedDict that is made of something else than
/// pairs; E0214.
expected<std::vector<pickled_member>> members_of(weights_reading& reading, const pickled_values& values,
                                                 const pickled& dict);

/// The state dict in what a file of torch.save has: its root, or the dict in that under "state_dict",
/// "model_state_dict", "model", "module" or "net", and so on in that one. Errors: E0207 where there is none; E0212
/// where something that would have to be called stands in its place; those of tensor_in(); E0210 for two members of one
/// name. Members whose names end with "_extra_state" belong to modules and are left out, where they are no tensors.
expected<state_dict> dict_in(weights_reading& reading, const pickled_values& values, const storage_finder& find);

}  // namespace troupe
