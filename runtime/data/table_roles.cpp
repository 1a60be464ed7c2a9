#include "runtime/data/table_roles.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "messages/try.hpp"
#include "runtime/data/marked_text.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/table_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

tl::unexpected<error> refused(const data_request& request, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, request.specification, std::move(cause), std::move(fix));
}

/// `groups`: the option that could give the column another name; null where none could.
expected<void> check_name(const data_request& request, const std::string& name, const data_option* groups) {
  if (is_array_name(name)) return {};
  const std::string other = groups == nullptr ? ""
                                              : ", or put it into a group, as in " + std::string(groups->name) + "=" +
                                                    quoted_where_needed("x:" + name, ",=+");
  return refused(request, "\"" + shown_cell(name) + "\" is no name that an input or a label can have",
                 "rename the column in the file" + other);
}

/// As in an option of names, of so many columns at most; `group` stands before the first one: "x:".
std::string example_of(const std::vector<std::string>& columns, std::size_t most = 2, const std::string& group = {}) {
  std::string text;
  for (std::size_t i = 0; i < columns.size() && i < most; ++i) {
    text += i == 0 ? quoted_where_needed(group + columns[i], ",=+") : "+" + quoted_where_needed(columns[i], ",=+");
  }
  return text;
}

/// A target that is not the only label has a name: that of its group, or of its one column.
expected<void> read_targets(const table_source& table, const data_request& request, table_roles& into) {
  for (column_group& each : TROUPE_TRY(read_groups(table, request, target_option))) {
    if (each.name.empty() && each.columns.size() == 1) each.name = each.columns.front();
    into.labels.push_back({std::move(each.name), std::move(each.columns), true});
  }
  return {};
}

expected<void> read_labels(const table_source& table, const data_request& request, table_roles& into) {
  for (const std::string& each : request.options.names(label_option.name)) into.labels.push_back({each, {each}, false});
  TROUPE_TRY(read_targets(table, request, into));
  if (into.labels.empty()) {
    for (const char* name : {"label", "labels"}) {
      if (into.labels.empty() && has(table.columns(), name)) into.labels.push_back({name, {name}, false});
    }
  }
  if (into.labels.size() == 1) into.labels.front().name.clear();
  std::vector<std::string> names;
  const bool has_x = std::ranges::find(into.labels, "x", &table_label::name) != into.labels.end();
  for (const table_label& each : into.labels) {
    if (into.labels.size() > 1 && (each.name.empty() || has(names, each.name))) {
      return refused(request, "there are several labels, and not each has a name of its own",
                     "give each group a name, as in target=" + example_of(each.columns, 2, has_x ? "y:" : "x:"));
    }
    if (!each.name.empty()) TROUPE_TRY(check_name(request, each.name, each.is_target ? &target_option : nullptr));
    names.push_back(each.name);
  }
  return {};
}

/// A column without a name can be a row number of pandas, which would be a wrong input that nothing tells.
expected<void> take_all_others(const table_source& table, const data_request& request, table_roles& into) {
  table_input all;
  const auto id = request.options.text(id_option.name);
  std::unordered_set<std::string_view> labels;
  for (const table_label& each : into.labels) labels.insert(each.columns.begin(), each.columns.end());
  for (const std::string& name : table.columns()) {
    if (name.empty()) {
      const auto at = std::ranges::find(table.columns(), name) - table.columns().begin();
      std::vector<std::string> named;
      std::ranges::copy_if(table.columns(), std::back_inserter(named), [](const auto& each) { return !each.empty(); });
      return fail(
          error_code::data_bad_format, table.path(), "column " + std::to_string(at + 1) + " has no name",
          named.empty() ? "give each column a name" : "choose the inputs by name, as in columns=" + example_of(named));
    }
    if (!labels.contains(name) && id != name) all.columns.push_back(name);
  }
  if (!all.columns.empty()) into.inputs.push_back(std::move(all));
  return {};
}

expected<void> read_inputs(const table_source& table, const data_request& request, table_roles& into) {
  for (column_group& each : TROUPE_TRY(read_groups(table, request, columns_option))) {
    into.inputs.push_back({.name = std::move(each.name), .columns = std::move(each.columns)});
  }
  for (const std::string& each : request.options.names(inputs_option.name)) {
    TROUPE_TRY(check_name(request, each, &columns_option));
    into.inputs.push_back({.name = each, .columns = {each}, .is_group = false});
  }
  if (into.inputs.empty()) TROUPE_TRY(take_all_others(table, request, into));
  if (into.inputs.empty()) return refused(request, "all columns are labels", "give the inputs of the model, too");
  std::vector<std::string> names;
  for (const table_input& each : into.inputs) {
    if (has(names, each.name) || (each.name.empty() && into.inputs.size() > 1)) {
      return refused(request, "there are several inputs, and not each has a name of its own",
                     "give each group a name, as in columns=x:age+height");
    }
    names.push_back(each.name);
  }
  for (const std::string& each : request.options.names(integers_option.name)) {
    const auto found = std::ranges::find(into.inputs, each, &table_input::name);
    if (found == into.inputs.end()) {
      return refused(request, "integers= names \"" + shown_cell(each) + "\", which is no input with a name",
                     suggest_fix(each, names));
    }
    found->is_integer = true;
  }
  return {};
}

/// The columns that have names, and the first of them for an error.
std::string list_of_columns(const std::vector<std::string>& columns) {
  constexpr std::size_t shown_max = 10;
  std::string list;
  std::size_t shown = 0;
  for (const std::string& each : columns) {
    if (each.empty()) continue;
    if (shown == shown_max) return list + ", ...";
    list += (shown++ == 0 ? "" : ", ") + shown_cell(each);
  }
  return list;
}

/// A name that has a separator of lists is one name in quotes alone.
std::string column_fix(const std::string& word, const std::vector<std::string>& columns) {
  std::vector<std::string> known;
  std::ranges::copy_if(columns, std::back_inserter(known), [](const std::string& each) { return !each.empty(); });
  if (const auto near = suggest(word, known)) {
    if (near->find_first_of(",+") == std::string::npos) return "write \"" + *near + "\"";
    return "write \"" + *near + "\" with the double quotes; on a command line single quotes around them keep them";
  }
  return "use one of: " + list_of_columns(known);
}

expected<void> check_columns(const table_source& table, const table_roles& roles) {
  std::vector<std::string> named = columns_used(roles);
  if (roles.id) named.push_back(*roles.id);
  const std::unordered_set<std::string_view> there(table.columns().begin(), table.columns().end());
  for (const std::string& each : named) {
    if (there.contains(each)) continue;
    return fail(error_code::data_missing, table.path(), "there is no column \"" + shown_cell(each) + "\"",
                column_fix(each, table.columns()));
  }
  return {};
}

}  // namespace

expected<std::vector<column_group>> read_groups(const table_source& table, const data_request& request,
                                                const data_option& option) {
  std::vector<column_group> groups;
  for (const std::string& item : request.options.names(option.name)) {
    const std::size_t colon = item.find(':');
    const bool begins = colon != std::string::npos && !has(table.columns(), item);
    if (begins) {
      column_group made{.name = item.substr(0, colon), .columns = {item.substr(colon + 1)}};
      TROUPE_TRY(check_name(request, made.name, &option));
      groups.push_back(std::move(made));
    } else if (groups.empty()) {
      groups.push_back({.columns = {item}});
    } else {
      groups.back().columns.push_back(item);
    }
  }
  return groups;
}

metric_advice advice_for_table(const table_source& table, std::span<const table_label> labels, std::int64_t numbers) {
  using reason = metric_advice::reason;
  if (labels.empty()) {
    return {{},
            "say which column has the labels, label=NAME for classes or target=NAME for numbers; the columns are " +
                list_of_columns(table.columns()),
            reason::no_labels};
  }
  if (labels.size() > 1) {
    std::vector<std::string> columns;
    for (const table_label& each : labels) columns.insert(columns.end(), each.columns.begin(), each.columns.end());
    return {{},
            "choose one, --score-label NAME, or if they are numbers that make one label write target=" +
                example_of(columns, 10),
            reason::several_labels};
  }
  if (!labels.front().is_target) return {};
  metric_advice made{{"mae", "mse", "rmse"}, "choose metrics of numbers: --metrics mae,rmse"};
  if (numbers == 1) {
    made.metrics.insert(made.metrics.end(), {"r2", "pearson", "spearman"});
    return made;
  }
  made.metrics.insert(made.metrics.end(), {"auroc", "average_precision", "mean_average_precision", "log_loss",
                                           "subset_accuracy", "multilabel_accuracy", "hamming_loss"});
  made.fix += ", or of several labels of 0 and 1: --metrics auroc,mean_average_precision";
  return made;
}

std::string fix_of_guess(const table_source& table, const std::string& column) {
  std::vector<std::string> others;
  std::ranges::copy_if(table.columns(), std::back_inserter(others),
                       [&](const std::string& each) { return each != column; });
  const std::string label = "if this column has the labels, write label=" + quoted_where_needed(column, ",=+");
  return others.empty() ? label : label + "; else choose the inputs, as in columns=" + example_of(others);
}

std::vector<std::string> columns_used(const table_roles& roles) {
  std::vector<std::string> used;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) used.push_back(name);
  };
  for (const table_input& input : roles.inputs) std::ranges::for_each(input.columns, add);
  for (const table_label& label : roles.labels) std::ranges::for_each(label.columns, add);
  return used;
}

expected<table_roles> choose_columns(const table_source& table, const data_request& request) {
  table_roles roles{.id = request.options.text(id_option.name),
                    .classes = request.options.names(classes_option.name),
                    .ignored = request.options.count(ignore_option.name),
                    .skips_empty = request.options.toggle(skip_empty_option.name)};
  TROUPE_TRY(read_labels(table, request, roles));
  TROUPE_TRY(read_inputs(table, request, roles));
  TROUPE_TRY(check_columns(table, roles));
  const bool has_one_class = roles.labels.size() == 1 && !roles.labels.front().is_target;
  if (roles.ignored && !has_one_class) {
    return refused(request, "ignore= needs one label per sample that is a class", "leave ignore= out");
  }
  if (!roles.classes.empty() && std::ranges::all_of(roles.labels, &table_label::is_target)) {
    return refused(request, "classes= names classes, and no column has any", "say which has, as in label=NAME");
  }
  return roles;
}

}  // namespace troupe
