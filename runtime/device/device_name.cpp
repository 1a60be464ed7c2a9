#include "runtime/device/device_name.hpp"

#include <charconv>

#include <fmt/format.h>

namespace troupe {
namespace {

/// More than any machine has; the driver says what there is.
constexpr int ordinal_max = 1023;

tl::unexpected<error> unavailable(const device_name& asked, const std::string& stage, std::string cause) {
  return fail(error_code::device_unavailable, fmt::format("stage {}, device {}", stage, to_string(asked)),
              std::move(cause), "`troupe doctor` lists the devices; leave the device out to run on the CPU");
}

}  // namespace

expected<device_name> parse_device(std::string_view text, const std::string& where) {
  if (text == "cpu") return device_name{};
  if (text == "cuda") return device_name{device_kind::cuda};
  constexpr std::string_view prefix = "cuda:";
  int ordinal = -1;
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    const bool is_whole = problem == std::errc{} && end == digits.data() + digits.size();
    if (is_whole && !digits.starts_with('-') && ordinal <= ordinal_max) return device_name{device_kind::cuda, ordinal};
  }
  return fail(error_code::value_out_of_range, where,
              fmt::format("\"{}\", expected cpu, cuda or cuda:N with N from 0 to {}", text, ordinal_max),
              "Name one of the devices that `troupe doctor` lists");
}

std::string to_string(const device_name& device) {
  if (device.kind == device_kind::cpu) return "cpu";
  return device.ordinal ? fmt::format("cuda:{}", *device.ordinal) : "cuda";
}

expected<device_name> place_stage(const device_name& asked, const std::string& stage, std::uint32_t index,
                                  const expected<cuda_driver>& driver) {
  if (asked.kind == device_kind::cpu) return asked;
  if (!driver) return unavailable(asked, stage, "no CUDA driver: " + driver.error().cause);
  const std::size_t count = driver->devices().size();
  if (count == 0) return unavailable(asked, stage, "the CUDA driver finds no device");
  if (!asked.ordinal) return device_name{device_kind::cuda, static_cast<int>(index % count)};
  if (static_cast<std::size_t>(*asked.ordinal) < count) return asked;
  return unavailable(asked, stage, fmt::format("the machine has {}, the last is cuda:{}", count, count - 1));
}

}  // namespace troupe
