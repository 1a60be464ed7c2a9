#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/ScalarType.h>

#include "runtime/data/cast_names.hpp"
#include "runtime/data/data_option.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// How samples are made of arrays, as data are named on the command line behind the files.
struct array_options {
  std::optional<at::ScalarType> dtype;
  /// Samples with this label are left out.
  std::optional<std::int64_t> ignored;
  /// label=A+B: the arrays that are labels. Empty: the kind's default.
  std::vector<std::string> labels;
  /// inputs=A+B: the arrays that are inputs. Empty: all that are no labels.
  std::vector<std::string> inputs;
  /// trim=NAME: the mask by which sequences are cut to the longest of a micro-batch. Empty: none.
  std::string trim;
};

/// Arrays of one data set: inputs and labels.
inline constexpr std::size_t data_arrays_max = 256;

/// A name of an array that can be an argument of a model, or a member of one ("pair.left", "states.0"): letters, digits
/// and underscores, with dots between words, no digit first, and no more than limits::wire_tensor_name_bytes_max of
/// them.
bool is_array_name(std::string_view name);

/// The options of kinds that are arrays with names.
inline constexpr data_option label_option{.name = "label",
                                          .form = data_value::names,
                                          .value_name = "NAMES",
                                          .example = "start,end",
                                          .help = "which arrays or columns are the labels"};
inline constexpr data_option inputs_option{.name = "inputs",
                                           .form = data_value::names,
                                           .value_name = "NAMES",
                                           .example = "input_ids,attention_mask",
                                           .help = "which arrays or columns are inputs, each by its name"};
inline constexpr data_option trim_option{.name = "trim",
                                         .form = data_value::text,
                                         .value_name = "MASK",
                                         .example = "attention_mask",
                                         .help = "the mask by which sequences are cut to the longest of a micro-batch"};
inline constexpr data_option ignore_option{.name = "ignore",
                                           .form = data_value::count,
                                           .value_name = "LABEL",
                                           .example = "-100",
                                           .help = "leave out the samples with this label",
                                           .minimum = -9223372036854775808.0,
                                           .maximum = 9223372036854775807.0};
inline constexpr auto cast_name_list = [] {
  std::array<std::string_view, cast_names.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = cast_names[i].name;
  return names;
}();
inline constexpr data_option dtype_option{.name = "dtype",
                                          .form = data_value::choice,
                                          .value_name = "DTYPE",
                                          .example = "float32",
                                          .help = "cast the inputs to this type",
                                          .choices = cast_name_list,
                                          .is_bare = true};

inline constexpr std::array npy_options = {label_option, trim_option, ignore_option, dtype_option};
inline constexpr std::array npz_options = {label_option, inputs_option, trim_option, ignore_option, dtype_option};

/// The options of the tables above. Errors: E0103 for a name that no array can have.
expected<array_options> read_array_options(const data_request& request);

/// ",label=end,inputs=ids+mask,trim=mask": the choice of arrays as it was given; empty where none was.
std::string choice_text(const array_options& options);

/// Which arrays are inputs and which labels, by name.
struct array_roles {
  std::vector<std::string> inputs;
  std::vector<std::string> labels;
};

/// Without a choice "labels" is the label, and all others are inputs, in the order of `names`, which differ. `place` is
/// what errors name. Errors: `if_missing` for an array that is not there; E0103 where no input is left.
expected<array_roles> choose_arrays(const std::vector<std::string>& names, const array_options& options,
                                    const std::string& place, error_code if_missing);

}  // namespace troupe
