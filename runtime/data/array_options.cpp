#include "runtime/data/array_options.hpp"

#include <algorithm>
#include <charconv>

#include "messages/try.hpp"
#include "messages/wire_limits.hpp"
#include "runtime/data/cast_names.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::string_view ignore_key = "ignore=";
constexpr std::string_view label_key = "label=";
constexpr std::string_view inputs_key = "inputs=";
constexpr std::string_view trim_key = "trim=";
constexpr const char* default_label = "labels";

tl::unexpected<error> refused(const std::string& specification, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, specification, std::move(cause), std::move(fix));
}

expected<void> read_ignored(const std::string& specification, std::string_view digits, array_options& into) {
  std::int64_t label = 0;
  const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
  if (failure != std::errc{} || stop != digits.data() + digits.size()) {
    return refused(specification, "expected a whole number behind ignore=, found \"" + std::string(digits) + "\"",
                   "write the label of the samples that are left out, as in ignore=-100");
  }
  if (into.ignored) return refused(specification, "names two labels to ignore", "name one");
  into.ignored = label;
  return {};
}

expected<void> read_names(const std::string& specification, std::string_view key, std::string_view names,
                          std::vector<std::string>& into) {
  for (std::string& name : parts_between('+', names)) {
    if (!is_array_name(name)) {
      return refused(specification, "\"" + name + "\" behind " + std::string(key) + " is no name of an array",
                     "write names with + between, as in " + std::string(key) + "start+end");
    }
    if (std::ranges::find(into, name) != into.end()) {
      return refused(specification, "names \"" + name + "\" twice behind " + std::string(key), "name it once");
    }
    into.push_back(std::move(name));
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

std::vector<std::string> parts_between(char separator, std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool is_array_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_inner = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  const auto is_word = [&](const std::string& word) { return !word.empty() && std::ranges::all_of(word, is_inner); };
  return !name.empty() && name.size() <= limits::wire_tensor_name_bytes_max && is_letter(name.front()) &&
         std::ranges::all_of(parts_between('.', name), is_word);
}

expected<void> read_array_option(const std::string& specification, const std::string& form, const std::string& part,
                                 bool has_inputs, array_options& into) {
  const std::string_view text = part;
  if (text.starts_with(ignore_key)) return read_ignored(specification, text.substr(ignore_key.size()), into);
  if (text.starts_with(label_key)) {
    return read_names(specification, label_key, text.substr(label_key.size()), into.labels);
  }
  if (has_inputs && text.starts_with(inputs_key)) {
    if (!into.inputs.empty()) return refused(specification, "has inputs= twice", "write one, as in inputs=ids+mask");
    return read_names(specification, inputs_key, text.substr(inputs_key.size()), into.inputs);
  }
  if (text.starts_with(trim_key)) {
    if (!into.trim.empty()) return refused(specification, "has trim= twice", "name one mask");
    std::vector<std::string> masks;
    TROUPE_TRY(read_names(specification, trim_key, text.substr(trim_key.size()), masks));
    if (masks.size() != 1) return refused(specification, "trim= names several masks", "name one");
    into.trim = masks.front();
    return {};
  }
  const at::ScalarType dtype = cast_type(part);
  if (dtype == at::ScalarType::Undefined) {
    std::vector<std::string> known;
    known.reserve(cast_names.size());
    for (const cast_name& each : cast_names) known.emplace_back(each.name);
    return refused(specification, "expected " + form + ", and there is no type \"" + part + "\"",
                   suggest_fix(part, known));
  }
  if (into.dtype) return refused(specification, "names two types", "name one");
  into.dtype = dtype;
  return {};
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
