#include "runtime/data/data_specification.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/data/marked_text.hpp"
#include "runtime/data/option_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr char between_items = '+';
constexpr const char* special = ",=+";

std::string form_of(const data_kind& kind) {
  return std::string(kind.name) + ":" + std::string(kind.path);
}

tl::unexpected<error> refused(const std::string& where, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, where, std::move(cause), std::move(fix));
}

expected<void> set_option(const data_option& option, data_option_value value, const std::string& where,
                          data_options& into) {
  if (const data_option_value* before = into.find_value(option.name)) {
    if (option.form != data_value::names) {
      return refused(where, "has " + std::string(option.name) + " twice", "give it once");
    }
    auto all = std::get<std::vector<std::string>>(*before);
    for (std::string& each : std::get<std::vector<std::string>>(value)) all.push_back(std::move(each));
    value = std::move(all);
  }
  TROUPE_TRY(check_data_value(option, value, where));
  into.set(option.name, std::move(value));
  return {};
}

expected<void> read_value(const data_option& option, const marked_text& value, const std::string& where,
                          data_options& into) {
  std::vector<std::string> items;
  if (option.form == data_value::numbers || option.form == data_value::names) {
    for (const marked_text& each : value.split(between_items)) items.push_back(each.text());
  } else {
    items.push_back(value.text());
  }
  data_option_value read = TROUPE_TRY(value_of_items(option, items, value.text(), where));
  return set_option(option, std::move(read), where, into);
}

/// The option whose value stands alone, or a toggle.
const data_option* find_bare(const data_kind& kind, const marked_text& part) {
  if (part.has_quotes()) return nullptr;
  const auto is_it = [&](const data_option& each) {
    if (each.is_bare) return std::ranges::find(each.choices, part.text()) != each.choices.end();
    return each.form == data_value::toggle && &each == find_data_option(kind.options, part.text());
  };
  const auto found = std::ranges::find_if(kind.options, is_it);
  return found == kind.options.end() ? nullptr : &*found;
}

/// Neither a path nor an option.
tl::unexpected<error> strange_part(const data_kind& kind, const marked_text& part, const std::string& where) {
  if (const auto halves = part.cut_at('=')) return no_such_option(kind, halves->first.text(), where);
  const auto bare = std::ranges::find_if(kind.options, &data_option::is_bare);
  if (bare != kind.options.end()) {
    const std::vector<std::string> known(bare->choices.begin(), bare->choices.end());
    return refused(where, "expected " + form_of(kind) + ", and there is no type \"" + part.text() + "\"",
                   suggest_fix(part.text(), known));
  }
  const std::string quote = "put a path that has a comma in double quotes";
  if (kind.options.empty())
    return refused(where, "expected one path, and found \"" + part.text() + "\" behind it", quote);
  return refused(where, "expected NAME=VALUE behind the path, found \"" + part.text() + "\"",
                 "join the items of a list by plus signs, as in NAME=A+B, and " + quote);
}

expected<void> read_part(const marked_text& part, bool is_first, const std::string& where, data_specification& into) {
  const data_kind& kind = *into.kind;
  const bool is_path = is_first && !kind.takes_several_paths;
  if (const auto halves = is_path ? std::nullopt : part.cut_at('=')) {
    const data_option* option = find_data_option(kind.options, halves->first.text());
    if (option != nullptr) return read_value(*option, halves->second, where, into.options);
  }
  const data_option* const bare = is_path ? nullptr : find_bare(kind, part);
  if (bare != nullptr && bare->form == data_value::toggle) return set_option(*bare, true, where, into.options);
  if (bare != nullptr) return set_option(*bare, part.text(), where, into.options);
  if (!is_first && !kind.takes_several_paths) return strange_part(kind, part, where);
  into.paths.push_back(part.text());
  return {};
}

expected<const data_kind*> find_kind(const std::string& specification) {
  const std::size_t colon = specification.find(':');
  if (colon == std::string::npos) {
    return refused(specification.empty() ? "data" : specification,
                   "names no kind of data, expected one of " + data_forms(),
                   "put the kind before the path, as in mnist:data/mnist");
  }
  const std::string name = specification.substr(0, colon);
  const auto* kind = std::ranges::find(data_kinds, std::string_view(name), &data_kind::name);
  if (kind != data_kinds.end()) return kind;
  return fail(error_code::unknown_name, specification,
              "unknown kind of data \"" + name + "\", expected one of " + data_forms(),
              suggest_fix(name, data_kind_names()));
}

}  // namespace

expected<data_specification> parse_data(const std::string& text) {
  data_specification made;
  made.kind = TROUPE_TRY(find_kind(text));
  const std::string rest = text.substr(made.kind->name.size() + 1);
  if (rest.empty()) {
    return refused(text, "names no path, expected " + form_of(*made.kind), "put the path after the colon");
  }
  const auto marked = marked_text::read(rest, special);
  if (!marked) return refused(text, "a double quote is not closed", "close it, or write two in place of one");
  bool is_first = true;
  for (const marked_text& part : marked->split(',')) {
    TROUPE_TRY(read_part(part, is_first, text, made));
    is_first = false;
  }
  if (made.paths.empty() || made.paths.front().empty()) {
    return refused(text, "expected a path, " + form_of(*made.kind), "put the path behind the colon");
  }
  return made;
}

std::string options_text(const data_specification& data) {
  std::string text;
  for (const data_option& each : data.kind->options) {
    const data_option_value* value = data.options.find_value(each.name);
    if (value == nullptr) continue;
    text += ",";
    if (!each.is_bare) text.append(each.name).append("=");
    text += value_text(*value, between_items);
  }
  return text;
}

std::string to_string(const data_specification& data) {
  std::string text;
  for (const std::string& path : data.paths) {
    const auto marked = marked_text::read(path, special);
    const bool is_plain = marked && !marked->has_quotes() && path.find(',') == std::string::npos;
    text += (text.empty() ? "" : ",") + (is_plain ? path : quoted_where_needed(path, special + std::string("\"")));
  }
  return std::string(data.kind->name) + ":" + text + options_text(data);
}

std::string kinds_with(std::string_view option) {
  std::string kinds;
  for (const data_kind& kind : data_kinds) {
    if (find_data_option(kind.options, option) == nullptr) continue;
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.name);
  }
  return kinds;
}

tl::unexpected<error> no_such_option(const data_kind& kind, const std::string& name, const std::string& where) {
  std::vector<std::string> known;
  known.reserve(kind.options.size());
  for (const data_option& each : kind.options) known.emplace_back(each.name);
  const std::string others = kinds_with(name);
  return fail(
      error_code::unknown_name, where,
      std::string(kind.name) + " has no option \"" + name + "\"" + (others.empty() ? "" : "; it is one of " + others),
      known.empty() ? "leave it out: " + std::string(kind.name) +
                          " has no options, and a path that has a comma stands in double quotes"
                    : suggest_fix(name, known));
}

std::vector<const data_option*> all_data_options() {
  std::vector<const data_option*> all;
  for (const data_kind& kind : data_kinds) {
    for (const data_option& option : kind.options) {
      const auto is_it = [&](const data_option* each) { return each->name == option.name; };
      if (std::ranges::none_of(all, is_it)) all.push_back(&option);
    }
  }
  return all;
}

expected<data_set_ptr> open_data(const std::string& specification) {
  const data_specification data = TROUPE_TRY(parse_data(specification));
  return data.kind->open({to_string(data), data.paths, data.options, options_text(data)});
}

}  // namespace troupe
