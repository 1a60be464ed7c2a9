#include "runtime/watch/watch_table.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/json/json_part.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/os/write_all.hpp"
#include "runtime/report/atomic_file.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr std::size_t table_bytes_max = std::size_t{64} << 20;
constexpr std::uint64_t line_memory_max = std::uint64_t{64} << 20;
constexpr int schema_version = 1;

tl::unexpected<error> no_table(const fs::path& file, const std::string& cause) {
  return fail(error_code::output_unwritable, file.string(), cause, "give --state another folder");
}

/// In the order of the file, checked for depth and size before it is kept.
expected<json> parse_line(std::string_view line, const fs::path& file) {
  TROUPE_TRY(parse_json(line, line_memory_max, file.string(), "row"));
  return json::parse(line, nullptr, false);
}

expected<watch_row> row_of(const json& line, const fs::path& file) {
  const nlohmann::json plain = line;
  const json_part part(plain, file.string(), "row");
  watch_row row;
  const auto step = TROUPE_TRY(TROUPE_TRY(part.at("step")).integer());
  row.step = static_cast<std::uint64_t>(std::max<std::int64_t>(step, 0));
  row.checkpoint = TROUPE_TRY(TROUPE_TRY(part.at("checkpoint")).text());
  const auto stamp = TROUPE_TRY(TROUPE_TRY(part.at("stamp")).text());
  const auto read = std::from_chars(stamp.data(), stamp.data() + stamp.size(), row.stamp, 16);
  if (read.ec != std::errc() || step < 0) return part.wrong(" has no step or stamp");
  row.seconds = TROUPE_TRY(TROUPE_TRY(part.at("seconds")).real());
  const auto problem = TROUPE_TRY(part.find("error"));
  if (problem) {
    const auto text = [&](const char* key) { return problem->at(key).and_then([](auto at) { return at.text(); }); };
    const auto code = TROUPE_TRY(TROUPE_TRY(problem->at("number")).integer());
    const auto where = TROUPE_TRY(text("where"));
    const auto cause = TROUPE_TRY(text("cause"));
    const auto fix = TROUPE_TRY(text("fix"));
    row.problem = error{static_cast<error_code>(code), where, cause, fix};
    return row;
  }
  TROUPE_TRY(TROUPE_TRY(part.at("metrics")).members());
  row.metrics = line["metrics"];
  for (const auto& [name, fields] : row.metrics.items()) {
    if (!fields.is_object()) return part.wrong(".metrics has no objects");
  }
  return row;
}

/// The first option that differs.
std::optional<std::string> different_option(const json& before, const json& now) {
  for (const auto& [name, value] : now.items()) {
    const auto found = before.find(name);
    if (found == before.end() || *found != value) return name;
  }
  return before.size() == now.size() ? std::nullopt : std::optional<std::string>("options");
}

expected<void> check_header(const json& line, const json& options, const fs::path& file) {
  const bool is_header = line.is_object() && line.contains("schema_version") && line.contains("options");
  if (!is_header || line["schema_version"] != schema_version || !line["options"].is_object()) {
    return no_table(file, "its first line is not that of a table of troupe watch");
  }
  const auto different = different_option(line["options"], options);
  if (!different) return {};
  const auto before = line["options"].find(*different);
  return fail(error_code::flags_contradict, *different,
              fmt::format("the table {} was begun with {}", file.string(),
                          before == line["options"].end() ? "other options" : before->dump()),
              "give this option as before, or --state another folder");
}

}  // namespace

json json_of(const watch_row& row) {
  json made = {{"step", row.step},
               {"checkpoint", row.checkpoint},
               {"stamp", fmt::format("{:016x}", row.stamp)},
               {"seconds", row.seconds}};
  if (!row.problem) {
    made["metrics"] = row.metrics;
    return made;
  }
  const error& told = *row.problem;
  made["error"] = {{"code", code_name(told.code)},
                   {"number", static_cast<int>(told.code)},
                   {"where", told.where},
                   {"cause", told.cause},
                   {"fix", told.fix}};
  return made;
}

expected<std::unique_ptr<watch_table>> watch_table::open(const fs::path& file, const json& options) {
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem) return unwritable(file.parent_path(), problem.value());
  unique_fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
  if (!fd) return unwritable(file, errno);
  if (!fs::is_regular_file(file, problem)) return no_table(file, "it is no regular file");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return no_table(file, "another program has it open");
  std::unique_ptr<watch_table> made(new watch_table(file, std::move(fd)));
  TROUPE_TRY(made->read(options));
  return made;
}

expected<void> watch_table::read(const json& options) {
  auto text = read_small_input(file_.string(), table_bytes_max);
  if (!text) return no_table(file_, text.error().cause);
  if (text->size() > table_bytes_max) return no_table(file_, "it is larger than 64 MiB");
  const std::size_t whole = text->rfind('\n') + 1;
  if (whole != text->size() && ::ftruncate(fd_.get(), static_cast<off_t>(whole)) != 0) return unwritable(file_, errno);
  if (::lseek(fd_.get(), static_cast<off_t>(whole), SEEK_SET) < 0) return unwritable(file_, errno);
  if (whole == 0) return write_line({{"schema_version", schema_version}, {"options", options}});
  std::string_view left = std::string_view(*text).substr(0, whole);
  for (std::size_t number = 1; !left.empty(); ++number) {
    const std::size_t end = left.find('\n');
    const auto line = parse_line(left.substr(0, end), file_);
    left.remove_prefix(end + 1);
    if (!line) return no_table(file_, fmt::format("its line {} is no row", number));
    if (number == 1) {
      TROUPE_TRY(check_header(*line, options, file_));
      continue;
    }
    auto row = row_of(*line, file_);
    if (!row) return no_table(file_, fmt::format("its line {} is no row: {}", number, row.error().cause));
    rows_.push_back(std::move(*row));
  }
  return {};
}

expected<void> watch_table::write_line(const json& line) {
  const off_t before = ::lseek(fd_.get(), 0, SEEK_CUR);
  int reason = write_all(fd_.get(), line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n");
  if (reason == 0 && ::fsync(fd_.get()) != 0) reason = errno;
  if (reason == 0) return {};
  // a part of a line would be in the way of the next one
  if (::ftruncate(fd_.get(), before) == 0) static_cast<void>(::lseek(fd_.get(), before, SEEK_SET));
  return unwritable(file_, reason);
}

expected<void> watch_table::append(watch_row row) {
  TROUPE_TRY(write_line(json_of(row)));
  rows_.push_back(std::move(row));
  return {};
}

bool watch_table::has(const std::string& checkpoint) const {
  return std::ranges::any_of(rows_, [&](const watch_row& row) { return row.checkpoint == checkpoint && !row.problem; });
}

bool watch_table::has_failed(const std::string& checkpoint, std::uint64_t stamp) const {
  return std::ranges::any_of(
      rows_, [&](const watch_row& row) { return row.checkpoint == checkpoint && row.problem && row.stamp == stamp; });
}

}  // namespace troupe
