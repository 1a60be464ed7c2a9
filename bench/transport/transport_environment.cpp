#include <asio/version.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <sys/utsname.h>

#include "../machine.hpp"
#include "lanes.hpp"
#include "runtime/os/cores.hpp"
#include "transport_report.hpp"

namespace troupe::bench {
namespace {

std::string kernel() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string(names.sysname) + " " + names.release : "unknown";
}

std::string asio_version() {
  return fmt::format("{}.{}.{}", ASIO_VERSION / 100000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100);
}

}  // namespace

nlohmann::ordered_json transport_environment(double spin_us) {
  const std::string gloo = gloo_version();
  return {{"kernel", kernel()},
          {"processor", processor()},
          {"cores", usable_cores()},
          {"compiler", compiler()},
          {"openssl", OpenSSL_version(OPENSSL_VERSION)},
          {"asio", asio_version()},
          {"gloo", gloo.empty() ? "not built in: libgloo-dev was not found" : gloo},
          {"slots", credits},
          {"spin_us", spin_us},
          {"threads", "one per side; tcp and tls one more per side for input and output, gloo likewise"},
          {"load_average_before", load_average()}};
}

std::string environment_lines(const nlohmann::ordered_json& environment) {
  std::string lines;
  for (const auto& [name, value] : environment.items()) {
    lines += fmt::format("- {}: {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  return lines;
}

}  // namespace troupe::bench
