#include "runtime/process/exit_report.hpp"

#include <cstring>

#include "messages/error_text.hpp"

namespace troupe {
namespace {

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace

std::string exit_report::outcome() const {
  switch (kind) {
    case exit_kind::exited:
      return "exited with status " + std::to_string(value);
    case exit_kind::signalled:
      return "killed by " + signal_name(value) + (core_dumped ? " (core dumped)" : "");
    case exit_kind::lost:
      return note;
    case exit_kind::unknown:
      break;
  }
  return "ended in an unknown way";
}

std::string exit_report::describe(std::string how) const {
  if (told) how += ": " + brief(*told);
  if (!last_lines.empty()) how += "; its last lines:";
  for (const std::string& line : last_lines) how += "\n  " + line;
  return how;
}

}  // namespace troupe
