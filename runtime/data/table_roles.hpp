#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/data_option.hpp"
#include "runtime/data/table_source.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// One input: some columns beside each other. Of one column alone, `is_group` false, the tensor has the column's shape.
struct table_input {
  /// Empty where it is the only input, and has been given no name.
  std::string name = {};
  std::vector<std::string> columns = {};
  bool is_group = true;
  bool is_integer = false;
};

/// One label: a column of classes, or columns of numbers beside each other. Of one column alone the tensor has the
/// column's shape.
struct table_label {
  /// Empty where it is the only one.
  std::string name = {};
  /// One, unless it is a target.
  std::vector<std::string> columns = {};
  /// Numbers that are no classes.
  bool is_target = false;
};

/// What the columns of a table are for.
struct table_roles {
  std::vector<table_input> inputs = {};
  std::vector<table_label> labels = {};
  /// The column that names the samples.
  std::optional<std::string> id = {};
  /// The names of classes, in the order of their numbers; empty: as the column has them.
  std::vector<std::string> classes = {};
  std::optional<std::int64_t> ignored = {};
  bool skips_empty = false;
};

/// Columns that belong together, as columns= and target= name them: a+b is one group without a name, left:a+b+right:c
/// are two.
struct column_group {
  std::string name = {};
  std::vector<std::string> columns = {};
};

/// A part with a colon that is no column begins a group. Errors: E0103 for a name that no input or label can have.
expected<std::vector<column_group>> read_groups(const table_source& table, const data_request& request,
                                                const data_option& option);

/// Without columns= and inputs= all columns are one input but those that are labels or ids; without label= and target=
/// a column called label, or else labels, has the labels, and there are none where there is no such column. Errors:
/// E0301 for a column that is not there, with a suggestion; E0103 for names that no input or label can have, for one
/// that is given twice, where no input is left, for several labels without names, and for ignore= without one label.
expected<table_roles> choose_columns(const table_source& table, const data_request& request);

/// `numbers`: of the first label in a sample, if it is a target.
metric_advice advice_for_table(const table_source& table, std::span<const table_label> labels, std::int64_t numbers);

/// Where a column that was taken for an input, as none were named, has no number.
std::string fix_of_guess(const table_source& table, const std::string& column);

/// The columns of all roles, each once.
std::vector<std::string> columns_used(const table_roles& roles);

}  // namespace troupe
