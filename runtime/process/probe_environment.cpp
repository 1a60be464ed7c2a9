#include "runtime/process/probe_environment.hpp"

#include <cstdlib>
#include <string_view>

#include <fcntl.h>

namespace troupe {

namespace {

constexpr const char* on_one_host = "version=1;report=3";
constexpr const char* on_several_nodes = "version=1;report=3;nodes=1";

std::optional<probe_environment> parse(std::string_view text) {
  if (text == on_one_host) return probe_environment{.spans_nodes = false};
  if (text == on_several_nodes) return probe_environment{.spans_nodes = true};
  return std::nullopt;
}

}  // namespace

const char* encode(const probe_environment& environment) noexcept {
  return environment.spans_nodes ? on_several_nodes : on_one_host;
}

expected<std::optional<probe_environment>> take_probe_environment() {
  const char* found = std::getenv(probe_variable);
  if (found == nullptr) return std::nullopt;
  const auto parsed = parse(found);
  const bool is_ours = parsed && ::fcntl(probe_report_number, F_SETFD, FD_CLOEXEC) == 0;
  ::unsetenv(probe_variable);
  if (is_ours) return parsed;
  return fail(error_code::wire_malformed, probe_variable, "it does not say what this version of Troupe writes",
              "do not set it: it is for processes that Troupe starts");
}

}  // namespace troupe
