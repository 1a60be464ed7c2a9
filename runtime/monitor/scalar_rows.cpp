#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "messages/try.hpp"
#include "runtime/json/json_number.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/monitor/scalar_targets.hpp"
#include "runtime/monitor/written_scalars.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/report/atomic_file.hpp"
#include "runtime/report/writable_directory.hpp"
#include "runtime/suggest/read_text.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_bytes_max = std::size_t{16} << 20;
constexpr std::uint64_t line_memory_max = std::uint64_t{64} << 20;
constexpr std::string_view csv_header = "wall_time,step,name,value";

/// How a form has its rows.
struct row_form {
  std::string_view header;
  /// Which scalars a line has; false for another line.
  bool (*read)(std::string_view line, written_scalars& into);
  /// Lines with their ends.
  std::string (*write)(double wall_time, std::uint64_t step, const std::vector<scalar>& scalars);
};

std::optional<std::uint64_t> step_of(std::string_view text) {
  const auto step = number_in<std::int64_t>(text);
  return step && *step >= 0 ? std::optional<std::uint64_t>(*step) : std::nullopt;
}

/// As RFC 4180 has it.
std::string quoted(const std::string& name) {
  if (name.find_first_of(",\"\n\r") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

/// The field at the beginning, and what comes behind its comma. Nothing where none comes.
std::optional<std::string> take_csv_field(std::string_view& line) {
  std::string field;
  if (!line.starts_with('"')) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    field = line.substr(0, comma);
    line.remove_prefix(comma + 1);
    return field;
  }
  for (std::size_t at = 1; at + 1 < line.size(); ++at) {
    if (line[at] != '"') {
      field += line[at];
    } else if (line[at + 1] == '"') {
      field += line[++at];
    } else if (line[at + 1] == ',') {
      line.remove_prefix(at + 2);
      return field;
    } else {
      break;
    }
  }
  return std::nullopt;
}

bool read_csv(std::string_view line, written_scalars& into) {
  const auto wall_time = take_csv_field(line);
  const auto step = wall_time ? take_csv_field(line) : std::nullopt;
  const auto name = step ? take_csv_field(line) : std::nullopt;
  const auto number = name ? step_of(*step) : std::nullopt;
  if (number) into.add(*name, *number);
  return number.has_value();
}

std::string write_csv(double wall_time, std::uint64_t step, const std::vector<scalar>& scalars) {
  std::string text;
  for (const scalar& each : scalars) {
    text += fmt::format("{:.3f},{},{},{}\n", wall_time, step, quoted(each.name), each.value);
  }
  return text;
}

bool read_jsonl(std::string_view line, written_scalars& into) {
  const auto row = parse_json(line, line_memory_max, "scalars", "row");
  if (!row || !row->is_object()) return false;
  const auto step = row->find("step");
  if (step == row->end() || !step->is_number_unsigned()) return false;
  for (const auto& [name, value] : row->items()) {
    if (!is_reserved(name)) into.add(name, step->get<std::uint64_t>());
  }
  return true;
}

std::string write_jsonl(double wall_time, std::uint64_t step, const std::vector<scalar>& scalars) {
  nlohmann::ordered_json row = {{"wall_time", wall_time}, {"step", step}};
  for (const scalar& each : scalars) row[each.name] = json_number(each.value);
  return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

constexpr row_form csv_form{csv_header, &read_csv, &write_csv};
constexpr row_form jsonl_form{{}, &read_jsonl, &write_jsonl};

/// The text with an end of its last line; empty where there is no file.
expected<std::string> text_of(const fs::path& file) {
  std::error_code problem;
  const fs::file_status there = fs::status(file, problem);
  if (!fs::exists(there)) return std::string();
  if (!fs::is_regular_file(there)) return not_for_scalars(file, "it is no regular file");
  auto text = read_small_input(file.string(), file_bytes_max);
  if (!text) return not_for_scalars(file, text.error().cause);
  if (text->size() > file_bytes_max) return not_for_scalars(file, "it is larger than 16 MiB");
  if (!text->empty() && !text->ends_with('\n')) *text += '\n';
  return std::move(*text);
}

/// A name with a line break stands in several lines of a CSV file: they are taken together until their quotes are even.
std::string_view next_row(std::string_view& text, const row_form& form) {
  std::size_t end = text.find('\n');
  const auto has_open_quote = [&] {
    const std::string_view row = text.substr(0, end);
    return std::count(row.begin(), row.end(), '"') % 2 != 0;
  };
  while (!form.header.empty() && end + 1 < text.size() && has_open_quote()) {
    const std::size_t next = text.find('\n', end + 1);
    if (next == std::string_view::npos) break;
    end = next;
  }
  const std::string_view row = text.substr(0, end);
  text.remove_prefix(end + 1);
  return row;
}

expected<written_scalars> read_rows(const fs::path& file, std::string_view text, const row_form& form) {
  written_scalars found;
  bool is_header = !form.header.empty();
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view row = next_row(text, form);
    const bool fits = is_header ? row == form.header : form.read(row, found);
    if (!fits) return not_for_scalars(file, fmt::format("its row {} holds something else than scalars", number));
    if (found.is_full()) return not_for_scalars(file, "it holds too many scalars");
    is_header = false;
  }
  return found;
}

class scalar_rows final : public scalar_log {
 public:
  scalar_rows(fs::path file, const row_form& form, std::string text, written_scalars written)
      : file_(std::move(file)), form_(form), text_(std::move(text)), written_(std::move(written)) {}

  expected<std::size_t> write(std::uint64_t step, std::span<const scalar> scalars) override {
    TROUPE_TRY(check_scalars(step, scalars));
    const std::vector<scalar> made = written_.missing(step, scalars);
    if (made.empty()) return std::size_t{0};
    std::string text = text_;
    if (text.empty() && !form_.header.empty()) text = std::string(form_.header) + "\n";
    text += form_.write(wall_seconds_now(), step, made);
    if (text.size() > file_bytes_max) return not_for_scalars(file_, "it would be larger than 16 MiB");
    TROUPE_TRY(atomic_write_file(file_, text));
    text_ = std::move(text);
    for (const scalar& each : made) written_.add(each.name, step);
    return made.size();
  }

 private:
  const fs::path file_;
  const row_form& form_;
  std::string text_;
  written_scalars written_;
};

}  // namespace

expected<std::unique_ptr<scalar_log>> open_scalar_rows(const fs::path& file) {
  const row_form& form = file.extension() == ".csv" ? csv_form : jsonl_form;
  auto text = TROUPE_TRY(text_of(file));
  auto written = TROUPE_TRY(read_rows(file, text, form));
  TROUPE_TRY(check_writable_directory(file.has_parent_path() ? file.parent_path() : fs::path("."),
                                      {file.filename().string()}));
  return std::make_unique<scalar_rows>(file, form, std::move(text), std::move(written));
}

}  // namespace troupe
