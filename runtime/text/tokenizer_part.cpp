#include "runtime/text/tokenizer_part.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"

namespace troupe {

tl::unexpected<error> unusable(const std::string& where, const std::string& cause) {
  return fail(
      error_code::tokenizer_unusable, where, cause,
      "use a tokenizer of the parts that docs/text.md lists, or tokenize in Python and give the ids as npy files");
}

tl::unexpected<error> gave_up() {
  return fail(error_code::data_bad_format, "tokenizer",
              "a regular expression of the tokenizer takes too much time or memory on this text",
              "leave this text out, or use a tokenizer whose expressions do not go back again and again");
}

expected<std::string> type_of(const json_part& part) {
  const json_part type = TROUPE_TRY(part.at("type"));
  return type.text();
}

expected<void> check_members(const json_part& part, std::string_view type,
                             std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : TROUPE_TRY(part.members())) {
    if (name != "type" && std::ranges::find(known, name) == known.end()) {
      return unusable(part.where(), std::string(type) + " has the member \"" + name + "\", which is not known");
    }
  }
  return {};
}

expected<std::size_t> count_in(const json_part& part, std::size_t most) {
  const std::int64_t value = TROUPE_TRY(part.integer());
  if (value < 0 || static_cast<std::uint64_t>(value) > most) {
    return part.wrong("is not between 0 and " + std::to_string(most));
  }
  return static_cast<std::size_t>(value);
}

expected<text_pattern> read_pattern(const json_part& part) {
  const tagged_part only = TROUPE_TRY(part.tagged());
  std::string pattern = TROUPE_TRY(only.value.text());
  if (only.kind == "String") return text_pattern(std::move(pattern));
  if (only.kind != "Regex") return unusable(part.where(), "a pattern of kind \"" + only.kind + "\" is not supported");
  auto compiled = regex::compile(pattern);
  if (compiled) return text_pattern(std::move(*compiled));
  return unusable(part.where(),
                  "the regular expression \"" + pattern.substr(0, 200) + "\" cannot be used, " + compiled.error());
}

}  // namespace troupe
