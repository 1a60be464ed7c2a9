#include "runtime/process/error_line.hpp"

#include <cstddef>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "messages/limits.hpp"
#include "messages/printable.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view error_mark = "troupe-error ";
constexpr std::string_view text_mark = "error ";
constexpr std::string_view fix_mark = "  fix: ";
constexpr std::string_view more_mark = "  more: ";
constexpr std::size_t members = 4;

bool& is_starter_told() noexcept {
  static bool of_this_process = false;
  return of_this_process;
}

/// A cut character at the end becomes U+FFFD.
std::string line_with_at_most(const error& e, std::size_t bytes) {
  const json made = {{"code", static_cast<unsigned>(e.code)},
                     {"where", printable(e.where).substr(0, bytes)},
                     {"cause", printable_lines(e.cause).substr(0, bytes)},
                     {"fix", printable_lines(e.fix).substr(0, bytes)}};
  return std::string(error_mark) + made.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The code of "E0707: ...".
std::optional<error_code> code_before_colon(std::string_view text) {
  const std::size_t colon = text.find(": ");
  const bool is_code = colon == 5 && text.front() == 'E';
  return is_code ? parse_code(text.substr(0, colon)) : std::nullopt;
}

std::optional<std::string> text_in(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// The error that begins with line `first`; `end` becomes the line behind it.
error error_from(const std::vector<std::string>& lines, std::size_t first, error_code code, std::size_t& end) {
  error made{code, {}, lines[first].substr(text_mark.size() + 7), {}};
  for (end = first + 1; end < lines.size() && lines[end].starts_with("  "); ++end) {
    if (lines[end].starts_with(fix_mark)) {
      made.fix = lines[end].substr(fix_mark.size());
    } else if (!lines[end].starts_with(more_mark)) {
      (made.fix.empty() ? made.cause : made.fix) += "\n" + lines[end];
    }
  }
  return made;
}

}  // namespace

std::string error_line(const error& e) {
  std::size_t bytes = limits::worker_output_line_bytes_max / 2;
  std::string line = line_with_at_most(e, bytes);
  while (line.size() > limits::worker_output_line_bytes_max) line = line_with_at_most(e, bytes /= 2);
  return line;
}

std::optional<error> error_in(std::string_view line) {
  if (!line.starts_with(error_mark) || line.size() > limits::worker_output_line_bytes_max) return std::nullopt;
  const json parsed = json::parse(line.substr(error_mark.size()), nullptr, false);
  if (!parsed.is_object() || parsed.size() != members) return std::nullopt;
  const auto number = parsed.find("code");
  if (number == parsed.end() || !number->is_number_unsigned()) return std::nullopt;
  const auto code = parse_code(std::to_string(number->get<std::uint64_t>()));
  auto where = text_in(parsed, "where");
  auto cause = text_in(parsed, "cause");
  auto fix = text_in(parsed, "fix");
  if (!code || !where || !cause || !fix) return std::nullopt;
  return error{*code, std::move(*where), std::move(*cause), std::move(*fix)};
}

std::optional<error> take_last_error(std::vector<std::string>& lines) {
  for (std::size_t first = lines.size(); first-- > 0;) {
    if (!lines[first].starts_with(text_mark)) continue;
    const auto code = code_before_colon(std::string_view(lines[first]).substr(text_mark.size()));
    if (!code) continue;
    std::size_t end = 0;
    error found = error_from(lines, first, *code, end);
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first), lines.begin() + static_cast<std::ptrdiff_t>(end));
    return found;
  }
  return std::nullopt;
}

void tell_starter_errors() noexcept {
  is_starter_told() = true;
}

void read_error_line_variable() noexcept {
  if (std::getenv(error_line_variable) == nullptr) return;
  ::unsetenv(error_line_variable);
  tell_starter_errors();
}

std::string last_words(const error& e) {
  return (tells_starter_errors() ? error_line(e) : to_string(e)) + "\n";
}

bool tells_starter_errors() noexcept {
  return is_starter_told();
}

}  // namespace troupe
