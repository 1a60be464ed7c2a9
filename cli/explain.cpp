#include <fmt/format.h>

#include "command.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/suggest/suggest.hpp"
#include <troupe/error_code.hpp>

namespace troupe::cli {
namespace {

std::string list_text() {
  std::string text;
  for (const error_explanation& each : all_error_explanations()) {
    text += fmt::format("{}  status {:<4}{}\n", code_name(each.code), static_cast<int>(each.status), each.title);
  }
  return text;
}

/// Words of `text` in lines of at most `width` columns.
std::string wrapped(std::string_view text, std::size_t width) {
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (used != 0 && used + 1 + end > width) {
      result += '\n';
      used = 0;
    }
    if (used != 0) result += ' ';
    used += (used != 0 ? 1 : 0) + end;
    result += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string explanation_text(const error_explanation& found) {
  return fmt::format("{}: {}\n\n{}\n\nThe program ends with status {}.\n", code_name(found.code), found.title,
                     wrapped(found.explanation, std::min<std::size_t>(output_width(), 100)),
                     static_cast<int>(found.status));
}

}  // namespace

expected<exit_status> run_explain(const arguments& given) {
  std::string text;
  parser flags("explain", "Explain an error code; without one, list all of them.",
               "  troupe explain E0203\n  troupe explain\n");
  flags.add_text("CODE", text, "The code of an error message: E0203, e203 or 203", "TEXT");
  const auto read = TROUPE_TRY(parse(flags, given));
  if (read == parsed::help_printed) return exit_status::ok;
  if (!flags.is_given("CODE")) return print(list_text()).map([] { return exit_status::ok; });
  const auto code = parse_code(text);
  if (code) return print(explanation_text(explain(*code))).map([] { return exit_status::ok; });
  return fail(error_code::unknown_code, text, "there is no such error code", "see the list of troupe explain");
}

}  // namespace troupe::cli
