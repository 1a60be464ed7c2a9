#include "runtime/predictions/named_lines.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr std::string_view line_begin = "{\"sample\": ";

/// One line, and how much stands before the place of the id.
struct sample_line {
  std::string_view text;
  std::size_t head = 0;
  std::uint64_t sample = 0;
};

std::optional<sample_line> read_line(std::string_view text, std::uint64_t samples) {
  if (!text.starts_with(line_begin)) return std::nullopt;
  sample_line made{.text = text};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + line_begin.size(), end, made.sample);
  if (failure != std::errc{} || stop == end || *stop != ',' || made.sample >= samples) return std::nullopt;
  made.head = static_cast<std::size_t>(stop - text.data());
  return made;
}

std::optional<std::vector<sample_line>> read_lines(std::string_view lines, std::uint64_t samples) {
  std::vector<sample_line> all;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const auto line = read_line(lines.substr(0, end + 1), samples);
    if (!line) return std::nullopt;
    all.push_back(*line);
    lines.remove_prefix(end + 1);
  }
  return all;
}

/// A data set may be a user's.
expected<std::vector<std::string>> ids_of(const data_set& data, sample_range range) try {
  auto ids = TROUPE_TRY(data.ids(range));
  if (ids.empty() || ids.size() == range.size()) return ids;
  return fail(error_code::source_failed, data.name(),
              "its ids() gave " + std::to_string(ids.size()) + " for " + std::to_string(range.size()) + " samples",
              "give one for each sample, or none");
} catch (...) {
  return fail(error_code::source_failed, data.name(), "its ids() threw: " + current_exception_text(),
              "mend the data set");
}

/// The first line behind `from` whose sample does not follow that before it.
std::size_t end_of_run(const std::vector<sample_line>& lines, std::size_t from) {
  std::size_t end = from + 1;
  while (end < lines.size() && lines[end].sample == lines[end - 1].sample + 1) ++end;
  return end;
}

}  // namespace

expected<std::string> with_ids(std::string_view lines, const data_set& data, const error& malformed) {
  const auto all = read_lines(lines, data.size());
  if (!all) return tl::make_unexpected(malformed);
  std::string made;
  for (std::size_t begin = 0; begin < all->size();) {
    const std::size_t end = end_of_run(*all, begin);
    const auto ids = TROUPE_TRY(ids_of(data, {(*all)[begin].sample, (*all)[end - 1].sample + 1}));
    if (ids.empty()) return std::string(lines);
    for (std::size_t i = begin; i < end; ++i) {
      const sample_line& line = (*all)[i];
      const nlohmann::json id = ids[i - begin];
      made.append(line.text.substr(0, line.head)).append(", \"id\": ");
      made += id.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      made += line.text.substr(line.head);
    }
    begin = end;
  }
  return made;
}

}  // namespace troupe
