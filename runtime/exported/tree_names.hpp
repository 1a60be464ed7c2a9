#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The names of the values in nested Python objects, in their order, as the file describes the objects (a "pytree"
/// specification, a JSON text of its own). A value alone has the empty name; a member of a tuple or list has its
/// position, one of a dict or dataclass its name, and a member of a member has both names with a dot between.
/// `named_tuples` is the table of the fields of named tuples, if the file has one.
expected<std::vector<std::string>> names_in_tree(const json_part& specification,
                                                 const std::optional<json_part>& named_tuples);

/// The same of the arguments of a call, a tuple of positional ones and a dict of keyword ones. The positional ones have
/// the first names of `parameters`.
expected<std::vector<std::string>> names_of_arguments(const json_part& specification,
                                                      const std::vector<std::string>& parameters,
                                                      const std::optional<json_part>& named_tuples);

}  // namespace troupe
