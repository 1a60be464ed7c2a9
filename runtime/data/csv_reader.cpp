#include "runtime/data/csv_reader.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/data/table_text.hpp"

namespace troupe {

namespace {

bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

}  // namespace

std::string separator_fix(char separator) {
  if (separator == '\t') return "say what separates cells, separator=tab";
  if (separator == ',') return "leave separator= out, as commas separate cells";
  return "say what separates cells, separator=\"" + std::string(1, separator) + "\"";
}

tl::unexpected<error> csv_reader::bad(const csv_row& row, std::string cause, std::string fix) const {
  return fail(error_code::data_bad_format,
              table_place(path_, row.begin.line, std::to_string(row.cells.empty() ? 1 : row.cells.size())),
              std::move(cause), std::move(fix));
}

std::size_t csv_reader::plain_bytes() const noexcept {
  const std::string_view rest = cursor_.rest();
  const auto is_special = [this](char c) { return c == separator_ || c == '"' || is_line_end(c); };
  return static_cast<std::size_t>(std::find_if(rest.begin(), rest.end(), is_special) - rest.begin());
}

expected<void> csv_reader::end_line() {
  const char first = cursor_.take();
  ++line_;
  if (first == '\r' && TROUPE_TRY(cursor_.fill()) && cursor_.peek() == '\n') cursor_.take();
  return {};
}

expected<void> csv_reader::skip_blank_lines() {
  while (TROUPE_TRY(cursor_.fill()) && is_line_end(cursor_.peek())) TROUPE_TRY(end_line());
  return {};
}

expected<bool> csv_reader::next(csv_row& row, std::size_t cells_max) {
  TROUPE_TRY(skip_blank_lines());
  if (!TROUPE_TRY(cursor_.fill())) return false;
  row.begin = {cursor_.offset(), line_};
  row.cells.clear();
  row.quoted.clear();
  TROUPE_TRY(read_row(row, cells_max));
  TROUPE_TRY(finish(row));
  return true;
}

expected<void> csv_reader::read_row(csv_row& row, std::size_t cells_max) {
  const auto begin_cell = [&] {
    row.cells.emplace_back();
    row.quoted.push_back(false);
    return state::begin;
  };
  state now = begin_cell();
  while (TROUPE_TRY(cursor_.fill())) {
    const char c = cursor_.peek();
    if (cursor_.offset() - row.begin.offset >= table_row_bytes_max) return row_too_long(path_, row.begin.line);
    if (const std::size_t plain = plain_bytes(); plain > 0 && now != state::behind_quote) {
      row.cells.back() += cursor_.rest().substr(0, plain);
      cursor_.skip(plain);
      now = now == state::begin ? state::plain : now;
      continue;
    }
    if (now != state::quoted && is_line_end(c)) return end_line();
    if (now != state::quoted && c == separator_) {
      if (row.cells.size() >= cells_max) {
        return bad(row, "the row has more than " + std::to_string(cells_max) + " cells",
                   "put cells that have a separator in double quotes, or name the separator, as in separator=\";\"");
      }
      cursor_.take();
      now = begin_cell();
      continue;
    }
    if (c == '"' && now == state::begin) {
      now = state::quoted;
      row.quoted.back() = true;
    } else if (c == '"' && now == state::quoted) {
      now = state::behind_quote;
    } else if (c == '"' && now == state::behind_quote) {
      row.cells.back() += c;
      now = state::quoted;
    } else if (now == state::behind_quote) {
      const bool may_separate = c == ';' || c == '\t' || c == '|' || c == ',';
      return bad(row, "there is text behind the quote that ends the cell",
                 may_separate ? separator_fix(c) : "double each quote inside of a quoted cell");
    } else {
      if (now == state::quoted && is_line_end(c)) {
        // line ends stay as they are, and count once
        cursor_.take();
        row.cells.back() += c;
        const bool is_first_half = c == '\r' && TROUPE_TRY(cursor_.fill()) && cursor_.peek() == '\n';
        line_ += is_first_half ? 0 : 1;
        continue;
      }
      now = now == state::begin ? state::plain : now;
      row.cells.back() += c;
    }
    cursor_.take();
  }
  if (now != state::quoted) return {};
  return bad(row, "a quote that begins in this row is not closed", "close it, or double quotes inside of the cell");
}

expected<void> csv_reader::finish(const csv_row& row) const {
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const auto wrong = find_bad_byte(row.cells[i]);
    if (!wrong) continue;
    const bool is_nul = row.cells[i][*wrong] == '\0';
    return fail(
        error_code::data_bad_format, table_place(path_, row.begin.line, std::to_string(i + 1)),
        is_nul ? "a cell has a NUL byte" : "a cell is no UTF-8 text, from byte " + std::to_string(*wrong) + " on",
        is_nul ? "save the table as text, not as UTF-16" : "save the table in UTF-8");
  }
  return {};
}

}  // namespace troupe
