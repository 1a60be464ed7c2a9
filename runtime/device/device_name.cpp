#include "runtime/device/device_name.hpp"

#include <charconv>

#include <fmt/format.h>

namespace troupe {
namespace {

/// More than any machine has; the driver says what there is.
constexpr int ordinal_max = 1023;

std::string_view word_for(device_kind kind) {
  switch (kind) {
    case device_kind::cuda:
      return "cuda";
    case device_kind::extension:
      return "privateuseone";
    case device_kind::cpu:
      break;
  }
  return "cpu";
}

/// The number in "N".
std::optional<int> ordinal_in(std::string_view digits) {
  int ordinal = -1;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  const bool is_whole = problem == std::errc{} && end == digits.data() + digits.size() && !digits.starts_with('-');
  return is_whole && ordinal <= ordinal_max ? std::optional(ordinal) : std::nullopt;
}

tl::unexpected<error> unavailable(const device_name& asked, const std::string& stage, std::string cause) {
  return fail(error_code::device_unavailable, fmt::format("stage {}, device {}", stage, to_string(asked)),
              std::move(cause), "`troupe doctor` lists the devices; leave the device out to run on the CPU");
}

}  // namespace

expected<device_name> parse_device(std::string_view text, const std::string& where) {
  if (text == "cpu") return device_name{};
  for (const device_kind kind : {device_kind::cuda, device_kind::extension}) {
    const std::string_view word = word_for(kind);
    if (text == word) return device_name{kind};
    if (!text.starts_with(word) || text.at(word.size()) != ':') continue;
    if (const auto ordinal = ordinal_in(text.substr(word.size() + 1))) return device_name{kind, *ordinal};
  }
  return fail(error_code::value_out_of_range, where,
              fmt::format("\"{}\", expected cpu, cuda or cuda:N with N from 0 to {}", text, ordinal_max),
              "Name one of the devices that `troupe doctor` lists");
}

std::string to_string(const device_name& device) {
  const std::string word(word_for(device.kind));
  return device.ordinal ? fmt::format("{}:{}", word, *device.ordinal) : word;
}

expected<device_name> place_stage(const device_name& asked, const std::string& stage, std::uint32_t index,
                                  const expected<std::size_t>& devices) {
  if (asked.kind == device_kind::cpu) return asked;
  if (!devices) return unavailable(asked, stage, devices.error().cause);
  const std::size_t count = *devices;
  if (count == 0) return unavailable(asked, stage, "the machine has none");
  if (!asked.ordinal) return device_name{asked.kind, static_cast<int>(index % count)};
  if (static_cast<std::size_t>(*asked.ordinal) < count) return asked;
  return unavailable(asked, stage,
                     fmt::format("the machine has {}, the last is {}:{}", count, word_for(asked.kind), count - 1));
}

}  // namespace troupe
