#include <fmt/format.h>

#include "command.hpp"
#include "machine_checks.hpp"
#include "output.hpp"
#include "parse.hpp"

namespace troupe::cli {
namespace {

std::string_view label(check_level level) {
  switch (level) {
    case check_level::ok:
      return "ok";
    case check_level::warning:
      return "warning";
    case check_level::failed:
      return "FAILED";
  }
  return {};
}

}  // namespace

expected<exit_status> run_doctor(const arguments& given) {
  parser reader("doctor",
                "Check this machine and installation: one line each, ok, warning or FAILED.\n"
                "Ends with status 1 if anything failed.",
                "  troupe doctor\n");
  const auto read = parse(reader, given);
  if (!read) return tl::make_unexpected(read.error());
  if (*read == parsed::help_printed) return exit_status::ok;
  std::string text;
  exit_status status = exit_status::ok;
  for (const machine_check& each : check_machine()) {
    text += fmt::format("{:<8} {:<10} {}\n", label(each.level), each.subject, each.finding);
    if (each.level == check_level::failed) status = exit_status::failure;
  }
  return print(text).map([&] { return status; });
}

}  // namespace troupe::cli
