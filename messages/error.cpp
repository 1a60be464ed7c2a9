#include "messages/error_text.hpp"
#include "messages/printable.hpp"
#include <troupe/error.hpp>

namespace troupe {
namespace {

/// Lines that begin with these two blanks and a word are to_string()'s own: a name with an end of line must not look
/// like one. More lines of a cause stand further in.
std::string without_marks(std::string text) {
  for (const std::string mark : {"\n  fix:", "\n  more:"}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) text.insert(at + 1, "  ");
  }
  return text;
}

}  // namespace

std::string brief(const error& e) {
  std::string text = code_name(e.code) + ": ";
  if (!e.where.empty()) text += printable(e.where) + ": ";
  return text + without_marks(printable_lines(e.cause));
}

std::string to_string(const error& e) {
  std::string text = "error " + brief(e);
  if (!e.fix.empty()) text += "\n  fix: " + without_marks(printable_lines(e.fix));
  return text;
}

}  // namespace troupe
