#include "runtime/data/table_numbers.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/data/marked_text.hpp"
#include "runtime/data/table_text.hpp"

namespace troupe {

namespace {

tl::unexpected<error> bad_cell(const cell_place& place, std::string cause, std::string fix) {
  return fail(error_code::data_bad_format, table_place(place.path, place.line, place.column), std::move(cause),
              std::move(fix));
}

template <class Number>
expected<void> read_number(std::string_view text, const cell_place& place, Number& into) {
  if (const auto number = table_number<Number>(text)) {
    into = *number;
    return {};
  }
  if (text == "true" || text == "false") {
    into = static_cast<Number>(text == "true" ? 1 : 0);
    return {};
  }
  constexpr bool is_integer = std::is_integral_v<Number>;
  return bad_cell(place,
                  std::string("expected a ") +
                      (is_integer ? "whole number of 64 bits" : "number that float32 can hold") + ", found \"" +
                      shown_cell(text) + "\"",
                  "write a number, or choose other columns, as in " + std::string(place.option) + "=A+B");
}

std::string_view without_brackets(std::string_view cell) {
  return cell.starts_with('[') && cell.ends_with(']') ? cell.substr(1, cell.size() - 2) : std::string_view();
}

template <class Number>
expected<void> read_any(const table_cell& cell, std::int64_t width, const cell_place& place, std::span<Number> into) {
  if (!cell) return changed(place);
  const bool is_array = cell->starts_with('[');
  if (!is_array && width == 0) return read_number(*cell, place, into.front());
  std::string_view rest = without_brackets(*cell);
  const auto found = is_array && !rest.empty() ? std::ranges::count(rest, ',') + 1 : std::ptrdiff_t{0};
  if (!is_array || width == 0 || found != width) {
    const std::string what = is_array ? "an array of " + std::to_string(found) : std::string("no array");
    if (width == 0) {
      return bad_cell(place, "expected one number, found " + what,
                      "give one number there in each row, or choose other columns");
    }
    return bad_cell(place, "expected " + std::to_string(width) + " numbers as in the rows before, found " + what,
                    "give each row as many numbers in this column");
  }
  for (Number& each : into) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    TROUPE_TRY(read_number(rest.substr(0, comma), place, each));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return {};
}

}  // namespace

bool is_blank(const std::string& cell) {
  return std::ranges::all_of(cell, [](char c) { return c == ' ' || c == '\t'; });
}

expected<void> check_no_array(const std::string& cell, const cell_place& place) {
  std::string_view rest = without_brackets(cell);
  if (rest.empty()) return {};
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (!table_number<double>(rest.substr(0, comma))) return {};
    is_last = comma == rest.size();
    rest.remove_prefix(is_last ? comma : comma + 1);
  }
  return bad_cell(place, "expected a class, found an array of numbers, " + shown_cell(cell),
                  "if the numbers of a row are one label, write target=" + quoted_where_needed(place.column, ",=+"));
}

expected<std::int64_t> width_of_cell(const std::string& cell, const cell_place& place) {
  if (!cell.starts_with('[')) return 0;
  const std::string_view inside = without_brackets(cell);
  if (is_blank(std::string(inside))) return bad_cell(place, "an array without a number", "give each row its numbers");
  return std::ranges::count(inside, ',') + 1;
}

expected<void> read_cell(const table_cell& cell, std::int64_t width, const cell_place& place, std::span<float> into) {
  return read_any(cell, width, place, into);
}

expected<void> read_cell(const table_cell& cell, std::int64_t width, const cell_place& place,
                         std::span<std::int64_t> into) {
  return read_any(cell, width, place, into);
}

tl::unexpected<error> changed(const cell_place& place) {
  return fail(error_code::data_unreadable, table_place(place.path, place.line, place.column),
              "was changed while in use", "leave the file alone while it is evaluated, and start again");
}

}  // namespace troupe
