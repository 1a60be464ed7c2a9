#include <troupe/error.hpp>

namespace troupe {

std::string to_string(const error& e) {
  std::string text = "error " + code_name(e.code) + ": ";
  if (!e.where.empty()) text += e.where + ": ";
  text += e.cause;
  if (!e.fix.empty()) text += "\n  fix: " + e.fix;
  return text;
}

}  // namespace troupe
