#include "runtime/report/text_table.hpp"

#include <algorithm>

#include "messages/check.hpp"
#include "messages/printable.hpp"

namespace troupe {
namespace {

bool begins_code_point(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::string padded(const std::string& cell, std::size_t width, text_table::align side) {
  const std::size_t used = text_columns(cell);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return side == text_table::align::left ? cell + blanks : blanks + cell;
}

void strip_trailing_blanks(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

std::size_t text_columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t all_up_to = 3;
  if (names.size() > all_up_to) return names.front() + " … " + names.back();
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text_columns(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t bytes = 0;
  for (std::size_t columns = 0; bytes < text.size(); ++bytes) {
    if (begins_code_point(text[bytes]) && ++columns == width) break;
  }
  return std::string(text.substr(0, bytes)) + "…";
}

void text_table::add(std::vector<std::string> cells) {
  TROUPE_CHECK(cells.size() == columns_.size(), "a row has a cell for every column");
  for (std::string& each : cells) each = printable(each);
  rows_.push_back(std::move(cells));
}

std::string text_table::text(std::size_t width) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], text_columns(row[c]));
  }
  std::string result;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c != 0) line += "  ";
      line += padded(row[c], widths[c], columns_[c]);
    }
    strip_trailing_blanks(line);
    result += shortened(line, width) + "\n";
  }
  return result;
}

}  // namespace troupe
