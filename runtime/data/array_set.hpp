#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/array_options.hpp"
#include "runtime/data/npy_array.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// An array of a data set. Its name is empty where it is the only input, or the only label, and the user gave it none.
struct named_array {
  std::string name;
  npy_array array;
};

/// Arrays as a data set. The first axis of all of them is the samples.
struct array_files {
  /// As the user named the data: "npy:x.npy,y.npy,ignore=3".
  std::string specification = {};
  /// data_set::name() and data_set::reading(), without the type to cast to.
  std::string name = {};
  std::string reading = {};
  /// Paths of the files, each once.
  std::vector<std::string> files = {};
  /// At least one of each.
  std::vector<named_array> inputs = {};
  std::vector<named_array> labels = {};
  /// The mask of trim=, where it was given.
  std::optional<npy_array> mask = {};
  array_options options = {};
};

/// Opens each array of the roles, and the mask of `into.options`, once.
expected<void> open_arrays(const array_roles& roles,
                           const std::function<expected<npy_array>(const std::string& name)>& open, array_files& into);

/// Goes through all labels. Errors: arrays of different lengths E0304; an element type that LibTorch hardly computes
/// with among inputs that are not cast E0303; ignore= without a single label that is an integer per sample, and trim=
/// with no mask [N, L] of integers, E0103; an integer label that is no class number E0305; all samples left out E0306;
/// as npy_array.
expected<data_set_ptr> make_array_set(array_files from);

}  // namespace troupe
