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

expected<void> check_name(const data_request& request, const std::string& name) {
  if (is_array_name(name)) return {};
  return refused(
      request, "\"" + shown_cell(name) + "\" is no name that an input or a label can have",
      "rename the column in the file, or put it into a group, as in columns=x:" + quoted_where_needed(name, ",=+"));
}

/// columns=a+b, columns=left:a+b: a part with a colon that is no column begins a group.
expected<void> read_groups(const table_source& table, const data_request& request, table_roles& into) {
  for (const std::string& item : request.options.names(columns_option.name)) {
    const std::size_t colon = item.find(':');
    const bool begins = colon != std::string::npos && !has(table.columns(), item);
    if (begins) {
      table_input made{.name = item.substr(0, colon), .columns = {item.substr(colon + 1)}};
      TROUPE_TRY(check_name(request, made.name));
      into.inputs.push_back(std::move(made));
    } else if (into.inputs.empty()) {
      into.inputs.push_back({.columns = {item}});
    } else {
      into.inputs.back().columns.push_back(item);
    }
  }
  return {};
}

expected<void> read_labels(const table_source& table, const data_request& request, table_roles& into) {
  for (const std::string& each : request.options.names(label_option.name)) into.labels.push_back({each, each, false});
  for (const std::string& each : request.options.names(target_option.name)) into.labels.push_back({each, each, true});
  if (into.labels.empty()) {
    for (const char* name : {"label", "labels"}) {
      if (into.labels.empty() && has(table.columns(), name)) into.labels.push_back({name, name, false});
    }
  }
  if (into.labels.size() == 1) into.labels.front().name.clear();
  for (const table_label& each : into.labels) {
    if (!each.name.empty()) TROUPE_TRY(check_name(request, each.name));
  }
  return {};
}

/// Where the only column has another separator in its name, what to do.
std::optional<std::string> separator_fix(const std::vector<std::string>& columns) {
  if (columns.size() != 1) return std::nullopt;
  const std::size_t at = columns.front().find_first_of(";\t|");
  if (at == std::string::npos) return std::nullopt;
  const char found = columns.front()[at];
  return "say what separates cells, separator=" + (found == '\t' ? "tab" : std::string(1, found));
}

/// A column without a name can be a row number of pandas, which would be a wrong input that nothing tells.
expected<void> take_all_others(const table_source& table, const data_request& request, table_roles& into) {
  if (const auto fix = separator_fix(table.columns())) {
    return fail(error_code::data_bad_format, table.path(),
                "has one column, which is called \"" + shown_cell(table.columns().front()) + "\"", *fix);
  }
  table_input all;
  const auto id = request.options.text(id_option.name);
  for (const std::string& name : table.columns()) {
    if (name.empty()) {
      const auto at = std::ranges::find(table.columns(), name) - table.columns().begin();
      return fail(error_code::data_bad_format, table.path(), "column " + std::to_string(at + 1) + " has no name",
                  "choose the inputs by name, as in columns=A+B");
    }
    const bool is_label = std::ranges::find(into.labels, name, &table_label::column) != into.labels.end();
    if (!is_label && id != name) all.columns.push_back(name);
  }
  if (!all.columns.empty()) into.inputs.push_back(std::move(all));
  return {};
}

expected<void> read_inputs(const table_source& table, const data_request& request, table_roles& into) {
  TROUPE_TRY(read_groups(table, request, into));
  for (const std::string& each : request.options.names(inputs_option.name)) {
    TROUPE_TRY(check_name(request, each));
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

/// A name that has a separator of lists is one name in quotes alone.
std::string column_fix(const std::string& word, const std::vector<std::string>& columns) {
  constexpr std::size_t shown_max = 10;
  std::vector<std::string> known;
  std::ranges::copy_if(columns, std::back_inserter(known), [](const std::string& each) { return !each.empty(); });
  if (auto fix = separator_fix(known)) return *fix;
  if (const auto near = suggest(word, known)) {
    if (near->find_first_of(",+") == std::string::npos) return "write \"" + *near + "\"";
    return "write \"" + *near + "\" with the double quotes; on a command line single quotes around them keep them";
  }
  std::string list = "use one of: ";
  for (std::size_t i = 0; i < known.size() && i < shown_max; ++i) list += (i == 0 ? "" : ", ") + shown_cell(known[i]);
  return list + (known.size() > shown_max ? ", ..." : "");
}

expected<void> check_columns(const table_source& table, const data_request& request, const table_roles& roles) {
  std::vector<std::string> named = columns_used(roles);
  if (const auto id = request.options.text(id_option.name)) named.push_back(*id);
  const std::unordered_set<std::string_view> there(table.columns().begin(), table.columns().end());
  for (const std::string& each : named) {
    if (there.contains(each)) continue;
    return fail(error_code::data_missing, table.path(), "there is no column \"" + shown_cell(each) + "\"",
                column_fix(each, table.columns()));
  }
  return {};
}

}  // namespace

std::vector<std::string> columns_used(const table_roles& roles) {
  std::vector<std::string> used;
  std::unordered_set<std::string_view> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) used.push_back(name);
  };
  for (const table_input& input : roles.inputs) std::ranges::for_each(input.columns, add);
  for (const table_label& label : roles.labels) add(label.column);
  return used;
}

expected<table_roles> choose_columns(const table_source& table, const data_request& request) {
  table_roles roles{.classes = request.options.names(classes_option.name),
                    .ignored = request.options.count(ignore_option.name),
                    .skips_empty = request.options.toggle(skip_empty_option.name)};
  TROUPE_TRY(read_labels(table, request, roles));
  TROUPE_TRY(read_inputs(table, request, roles));
  TROUPE_TRY(check_columns(table, request, roles));
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
