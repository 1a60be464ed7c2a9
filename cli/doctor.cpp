#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "machine_checks.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"

namespace troupe::cli {
namespace {

using json = nlohmann::json;

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

json text_or_null(const expected<std::string>& found) {
  return found ? json(*found) : json(nullptr);
}

json to_json(const std::vector<machine_check>& checks, const gpu_findings& gpus) {
  json lines = json::array();
  for (const machine_check& each : checks) {
    lines.push_back({{"level", label(each.level)}, {"subject", each.subject}, {"finding", each.finding}});
  }
  json devices = json::array();
  for (const cuda_device_info& each : gpus.cuda_devices) {
    devices.push_back(
        {{"device", fmt::format("cuda:{}", each.ordinal)}, {"name", each.name}, {"memory_bytes", each.memory_bytes}});
  }
  return {{"checks", lines},
          {"nccl", {{"version", text_or_null(gpus.nccl)}}},
          {"cuda",
           {{"runtime", text_or_null(gpus.cuda_runtime)},
            {"driver", text_or_null(gpus.cuda_driver)},
            {"devices", devices}}}};
}

std::string to_text(const std::vector<machine_check>& checks) {
  std::string text;
  for (const machine_check& each : checks) {
    text += fmt::format("{:<8} {:<10} {}\n", label(each.level), each.subject, printable(each.finding));
  }
  return text;
}

}  // namespace

expected<exit_status> run_doctor(const arguments& given) {
  parser reader("doctor",
                "Check this machine and installation: one line each, ok, warning or FAILED.\n"
                "Ends with status 1 if anything failed.",
                "  troupe doctor\n");
  bool as_json = false;
  reader.add_toggle("--json", as_json, "Print the findings, and what is known of GPUs, as JSON");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const gpu_findings gpus = find_gpus();
  const std::vector<machine_check> checks = check_machine(gpus);
  const bool has_failed = std::ranges::count(checks, check_level::failed, &machine_check::level) > 0;
  return print(as_json ? to_json(checks, gpus).dump(2, ' ', false, json::error_handler_t::replace) + "\n"
                       : to_text(checks))
      .map([&] { return has_failed ? exit_status::failure : exit_status::ok; });
}

}  // namespace troupe::cli
