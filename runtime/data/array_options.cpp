#include "runtime/data/array_options.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "messages/wire_limits.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::string_view label_key = "label=";
constexpr std::string_view inputs_key = "inputs=";
constexpr std::string_view trim_key = "trim=";
constexpr const char* default_label = "labels";

expected<void> check_names(const data_request& request, std::string_view option,
                           const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (is_array_name(name)) continue;
    return fail(error_code::value_out_of_range, request.specification,
                "\"" + name + "\" behind " + std::string(option) + "= is no name of an array",
                "write names with + between, as in " + std::string(option) + "=start+end");
  }
  return {};
}

std::string joined(const std::vector<std::string>& names, const std::string& separator) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : separator) + each;
  return text;
}

/// For an error: an archive may have any number of arrays.
std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t listed_max = 20;
  if (names.empty()) return "none";
  if (names.size() <= listed_max) return joined(names, ", ");
  return joined({names.begin(), names.begin() + listed_max}, ", ") + " and " +
         std::to_string(names.size() - listed_max) + " more";
}

}  // namespace

bool is_array_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const auto is_word = [&](const std::string& word) { return !word.empty() && std::ranges::all_of(word, is_inner); };
  return !name.empty() && name.size() <= limits::wire_tensor_name_bytes_max && is_letter(name.front()) &&
         std::ranges::all_of(split(name, '.'), is_word);
}

expected<array_options> read_array_options(const data_request& request) {
  const data_options& given = request.options;
  array_options made{.ignored = given.count(ignore_option.name),
                     .labels = given.names(label_option.name),
                     .inputs = given.names(inputs_option.name),
                     .trim = given.text(trim_option.name).value_or("")};
  if (const auto dtype = given.text(dtype_option.name)) made.dtype = cast_type(*dtype);
  TROUPE_TRY(check_names(request, label_option.name, made.labels));
  TROUPE_TRY(check_names(request, inputs_option.name, made.inputs));
  if (given.has(trim_option.name)) TROUPE_TRY(check_names(request, trim_option.name, {made.trim}));
  return made;
}

std::string choice_text(const array_options& options) {
  std::string text;
  if (!options.labels.empty()) text.append(",").append(label_key).append(joined(options.labels, "+"));
  if (!options.inputs.empty()) text.append(",").append(inputs_key).append(joined(options.inputs, "+"));
  if (!options.trim.empty()) text.append(",").append(trim_key).append(options.trim);
  return text;
}

expected<array_roles> choose_arrays(const std::vector<std::string>& names, const array_options& options,
                                    const std::string& place, error_code if_missing) {
  array_roles roles{.inputs = options.inputs, .labels = options.labels};
  if (roles.labels.empty()) roles.labels = {default_label};
  std::vector<std::string> masks(options.trim.empty() ? 0 : 1, options.trim);
  for (const std::vector<std::string>* role : {&roles.labels, &roles.inputs, &masks}) {
    for (const std::string& name : *role) {
      if (std::ranges::find(names, name) != names.end()) continue;
      const bool is_default = role == &roles.labels && options.labels.empty();
      return fail(if_missing, place,
                  "there is no array \"" + name + "\"" + (is_default ? ", which has the labels by default," : "") +
                      " among " + shown_names(names),
                  is_default ? "say which arrays are labels, as in label=" + (names.empty() ? "end" : names.back())
                             : suggest_fix(name, names));
    }
  }
  if (!roles.inputs.empty()) return roles;
  for (const std::string& name : names) {
    if (std::ranges::find(roles.labels, name) == roles.labels.end()) roles.inputs.push_back(name);
  }
  if (!roles.inputs.empty()) return roles;
  return fail(error_code::value_out_of_range, place, "all arrays are labels: " + shown_names(names),
              "give the inputs of the model, too");
}

}  // namespace troupe
