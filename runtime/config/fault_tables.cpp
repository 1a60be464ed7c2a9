#include "runtime/config/fault_tables.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "messages/try.hpp"
#include "runtime/fault/fault_fields.hpp"

namespace troupe {
namespace {

std::string place_of(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

tl::unexpected<error> bad_fault(const std::string& file, const toml::source_region& region, std::string cause,
                                const std::string& fix) {
  return fail(
      error_code::config_bad_value, place_of(file, region) + ": fault", std::move(cause),
      fix.empty() ? "write for example [[fault]] with kind = \"kill\", stage = \"stage.1\", at = \"mb17\"" : fix);
}

/// As a text spells it; nothing for a value that no key can have.
std::optional<std::string> spelling(const toml::node& value) {
  if (const auto* text = value.as_string()) return **text;
  if (const auto* count = value.as_integer()) return fmt::format("{}", **count);
  if (const auto* real = value.as_floating_point()) return fmt::format("{}", **real);
  const auto* toggle = value.as_boolean();
  return toggle != nullptr && **toggle ? std::optional<std::string>("") : std::nullopt;
}

/// Fields name their places by numbers: here those of `places`.
expected<std::string> read_table(const std::string& file, const toml::table& table) {
  std::vector<fault_field> fields;
  std::vector<toml::source_region> places;
  for (auto&& [key, value] : table) {
    const auto text = spelling(value);
    if (!text) return bad_fault(file, value.source(), fmt::format("{} takes no such value", key.str()), {});
    const std::size_t at = places.size();
    places.push_back(key.source());
    places.push_back(value.source());
    fields.insert(key.str() == "kind" ? fields.begin() : fields.end(), {std::string(key.str()), *text, at, at + 1});
  }
  if (fields.empty() || fields.front().key != "kind") return bad_fault(file, table.source(), "it has no kind", {});
  const auto read = read_fault(fields);
  if (!read) return bad_fault(file, places[read.error().at], read.error().cause, read.error().fix);
  return to_string(*read);
}

}  // namespace

expected<written_faults> read_fault_tables(const std::string& file, const toml::array& items) {
  written_faults made;
  for (const toml::node& item : items) {
    made.places.push_back(place_of(file, item.source()));
    if (const auto* table = item.as_table()) {
      auto text = TROUPE_TRY(read_table(file, *table));
      made.texts.push_back(std::move(text));
      continue;
    }
    const auto* text = item.as_string();
    if (text == nullptr) return bad_fault(file, item.source(), "it is neither a table nor a text", {});
    const auto read =
        text->get().empty() ? expected<fault>{} : parse_fault(**text);  // an empty one is any option's mistake
    if (!read) {
      return bad_fault(file, item.source(), read.error().where + ": " + read.error().cause, read.error().fix);
    }
    made.texts.emplace_back(**text);
  }
  return made;
}

}  // namespace troupe
