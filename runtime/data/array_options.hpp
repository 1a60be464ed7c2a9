#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/ScalarType.h>

#include <troupe/error.hpp>

namespace troupe {

/// How samples are made of arrays, as data are named on the command line behind the files.
struct array_options {
  std::optional<at::ScalarType> dtype;
  /// Samples with this label are left out.
  std::optional<std::int64_t> ignored;
  /// label=A+B or label=A,label=B: the arrays that are labels. Empty: the kind's default.
  std::vector<std::string> labels;
  /// inputs=A+B: the arrays that are inputs. Empty: all that are no labels.
  std::vector<std::string> inputs;
  /// trim=NAME: the mask by which sequences are cut to the longest of a micro-batch. Empty: none.
  std::string trim;
};

/// Arrays of one data set: inputs and labels.
inline constexpr std::size_t data_arrays_max = 256;

/// The parts of `text` between separators: one at least.
std::vector<std::string> parts_between(char separator, std::string_view text);

/// A name of an array that can be an argument of a model, or a member of one ("pair.left", "states.0"): letters, digits
/// and underscores, with dots between words, no digit first, and no more than limits::wire_tensor_name_bytes_max of
/// them.
bool is_array_name(std::string_view name);

/// Reads DTYPE, ignore=LABEL, label=NAMES, trim=NAME and, where `has_inputs`, inputs=NAMES into `into`, each once but
/// label=. `specification` is what errors name, `form` what they expect: "npz:FILE[,DTYPE]". Errors: E0103.
expected<void> read_array_option(const std::string& specification, const std::string& form, const std::string& part,
                                 bool has_inputs, array_options& into);

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
