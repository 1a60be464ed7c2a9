#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/data_option.hpp"
#include "runtime/data/table_source.hpp"

namespace troupe {

/// One input: some columns beside each other. Of one column alone, `is_group` false, the tensor has the column's shape.
struct table_input {
  /// Empty where it is the only input, and has been given no name.
  std::string name = {};
  std::vector<std::string> columns = {};
  bool is_group = true;
  bool is_integer = false;
};

/// A column of labels.
struct table_label {
  /// Empty where it is the only one.
  std::string name = {};
  std::string column = {};
  /// Numbers that are no classes.
  bool is_target = false;
};

/// What the columns of a table are for.
struct table_roles {
  std::vector<table_input> inputs = {};
  std::vector<table_label> labels = {};
  /// The names of classes, in the order of their numbers; empty: as the column has them.
  std::vector<std::string> classes = {};
  std::optional<std::int64_t> ignored = {};
  bool skips_empty = false;
};

/// Without columns= and inputs= all columns are one input but those that are labels or ids; without label= and target=
/// a column called label, or else labels, has the labels, and there are none where there is no such column. Errors:
/// E0301 for a column that is not there, with a suggestion; E0103 for names that no input or label can have, for one
/// that is given twice, where no input is left, and for ignore= without one label.
expected<table_roles> choose_columns(const table_source& table, const data_request& request);

/// The columns of all roles, each once.
std::vector<std::string> columns_used(const table_roles& roles);

}  // namespace troupe
