#include "runtime/partition/type_regex.hpp"

#include <algorithm>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

constexpr std::size_t regex_characters_max = 256;
/// std::regex recurses once per character searched, so a name from a hostile model must not be searched to its end.
constexpr std::size_t name_characters_max = 512;
constexpr std::size_t types_listed_max = 20;

expected<std::regex> make_regex(const std::string& text) {
  const auto bad = [](std::string cause) {
    return fail(error_code::value_out_of_range, "partition type:REGEX", std::move(cause),
                "write a regular expression such as type:conv or type:conv|linear");
  };
  if (text.empty()) {
    return bad("the regular expression is empty");
  }
  if (text.size() > regex_characters_max) {
    return bad(fmt::format("the regular expression has {} characters, at most {} are read", text.size(),
                           regex_characters_max));
  }
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::icase);
  } catch (const std::exception& caught) {
    return bad(fmt::format("the regular expression '{}' does not compile: {}", text, exception_text(caught)));
  }
}

}  // namespace

expected<void> check_regex(const std::string& regex) {
  return make_regex(regex).map([](const std::regex&) {});
}

expected<std::vector<double>> match_types(const std::string& regex, std::span<const std::string> type_names) {
  const auto compiled_regex = make_regex(regex);
  if (!compiled_regex) {
    return tl::make_unexpected(compiled_regex.error());
  }
  std::vector<double> weights;
  try {
    for (const std::string& name : type_names) {
      weights.push_back(std::regex_search(name.substr(0, name_characters_max), *compiled_regex) ? 1 : 0);
    }
  } catch (const std::regex_error& e) {
    return fail(error_code::value_out_of_range, "partition type:REGEX",
                fmt::format("searching '{}' takes too much: {}", regex, e.what()),
                "write a simpler regular expression");
  }
  if (std::count(weights.begin(), weights.end(), 1.0) == 0) {
    return fail(error_code::partition_no_match, "partition type:REGEX",
                fmt::format("no layer's type matches '{}'; the layers are: {}", regex, list_types(type_names)),
                "choose an expression that is found in one of these types");
  }
  return weights;
}

std::string list_types(std::span<const std::string> type_names) {
  std::vector<std::pair<std::string_view, std::size_t>> types;
  for (const std::string& name : type_names) {
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.first == name; });
    if (known != types.end()) {
      ++known->second;
    } else {
      types.emplace_back(name, 1);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(types.size(), types_listed_max); ++i) {
    text += text.empty() ? "" : ", ";
    text += types[i].first.substr(0, 80);
    text += types[i].second > 1 ? fmt::format(" x{}", types[i].second) : "";
  }
  return types.size() > types_listed_max ? text + fmt::format(" and {} more", types.size() - types_listed_max) : text;
}

}  // namespace troupe
