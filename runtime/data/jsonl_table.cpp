#include <algorithm>
#include <array>
#include <set>

#include "messages/try.hpp"
#include "runtime/data/byte_cursor.hpp"
#include "runtime/data/jsonl_row.hpp"
#include "runtime/data/table_marks.hpp"
#include "runtime/data/table_options.hpp"
#include "runtime/data/table_source.hpp"
#include "runtime/data/table_text.hpp"

namespace troupe {

namespace {

/// Lines that are not blank, from a place on.
class line_reader {
 public:
  line_reader(std::string path, byte_region_ptr region, table_mark from)
      : path_(std::move(path)), cursor_(std::move(region), from.offset), line_(from.line) {}

  /// False at the end. Errors: E0303 beyond table_row_bytes_max; as byte_region::read.
  [[nodiscard]] expected<bool> next(std::string& line, table_mark& begin) {
    do {
      line.clear();
      begin = {cursor_.offset(), line_};
      if (!TROUPE_TRY(cursor_.fill())) return false;
      while (TROUPE_TRY(cursor_.fill())) {
        const std::string_view rest = cursor_.rest();
        const std::size_t bytes = std::min(rest.find('\n'), rest.size());
        if (line.size() + bytes > table_row_bytes_max) return row_too_long(path_, begin.line);
        line += rest.substr(0, bytes);
        cursor_.skip(bytes == rest.size() ? bytes : bytes + 1);
        if (bytes == rest.size()) continue;
        ++line_;
        break;
      }
      if (begin.offset == 0 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    } while (std::ranges::all_of(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; }));
    return true;
  }

 private:
  std::string path_;
  byte_cursor cursor_;
  std::uint64_t line_;
};

tl::unexpected<error> bad_row(const std::string& path, std::uint64_t line, const jsonl_problem& problem) {
  return fail(error_code::data_bad_format, table_place(path, line, problem.column), "the row " + problem.cause,
              problem.fix);
}

class jsonl_table final : public table_source {
 public:
  jsonl_table(std::string path, byte_region_ptr region) : path_(std::move(path)), region_(std::move(region)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::uint64_t rows() const noexcept override { return marks_.rows(); }
  [[nodiscard]] const std::vector<std::string>& columns() const noexcept override { return columns_; }

  expected<void> scan() {
    line_reader reader(path_, region_, {});
    std::string line;
    table_mark begin;
    std::vector<table_cell> none;
    while (TROUPE_TRY(reader.next(line, begin))) {
      const auto problem = marks_.rows() == 0 ? read_jsonl_keys(line, columns_) : read_jsonl_row(line, {}, none);
      if (problem) return bad_row(path_, begin.line, *problem);
      if (marks_.rows() == 0) {
        TROUPE_TRY(check_keys(begin.line));
      }
      marks_.add(begin);
    }
    if (marks_.rows() > 0) return {};
    return fail(error_code::data_empty, path_, "has no row", "write one JSON object per line");
  }

  [[nodiscard]] expected<table_rows> read(sample_range range, std::span<const std::string> columns) const override {
    table_rows made{.first = range.begin, .cells = std::vector<std::vector<table_cell>>(columns.size())};
    key_places places;
    for (std::size_t i = 0; i < columns.size(); ++i) places.emplace(columns[i], i);
    line_reader reader(path_, region_, marks_.before(range.begin));
    std::string line;
    table_mark begin;
    std::vector<table_cell> cells;
    for (std::uint64_t at = range.begin / table_rows_per_mark * table_rows_per_mark; at < range.end; ++at) {
      const bool is_there = TROUPE_TRY(reader.next(line, begin));
      if (!is_there) break;  // a file that changed is an error of the region
      if (at < range.begin) continue;
      if (const auto problem = read_jsonl_row(line, places, cells)) return bad_row(path_, begin.line, *problem);
      made.lines.push_back(begin.line);
      for (std::size_t i = 0; i < cells.size(); ++i) made.cells[i].push_back(std::move(cells[i]));
    }
    return made;
  }

 private:
  [[nodiscard]] expected<void> check_keys(std::uint64_t line) const {
    std::set<std::string> seen;
    for (const std::string& each : columns_) {
      if (!seen.insert(each).second) return bad_row(path_, line, {"has this key twice", "give each key once", each});
    }
    return {};
  }

  std::string path_;
  byte_region_ptr region_;
  std::vector<std::string> columns_;
  table_marks marks_;
};

}  // namespace

expected<table_source_ptr> open_jsonl_table(const std::string& path) {
  auto made = std::make_shared<jsonl_table>(path, TROUPE_TRY(open_table_bytes(path)));
  TROUPE_TRY(made->scan());
  return made;
}

expected<table_source_ptr> open_jsonl_table(const data_request& request) {
  return open_jsonl_table(request.path());
}

}  // namespace troupe
