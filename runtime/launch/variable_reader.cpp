#include "runtime/launch/variable_reader.hpp"

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/launch/launch_text.hpp"

namespace troupe {

std::string variable_reader::fix() const {
  return fmt::format("leave its variables as {} sets them, or unset {}", launcher_, marker_);
}

std::optional<std::string> variable_reader::text(std::string_view name) const {
  auto found = lookup_(name);
  return found && !found->empty() ? std::move(found) : std::nullopt;
}

expected<std::optional<std::uint32_t>> variable_reader::number(std::string_view name, std::uint64_t least,
                                                               std::uint32_t most) const {
  const auto written = text(name);
  if (!written) return std::nullopt;
  const auto value = read_digits(*written);
  if (!value || *value < least || *value > most) {
    return fail(error_code::value_out_of_range, std::string(name),
                fmt::format("is {}, a number from {} to {} is expected", quote_text(*written), least, most), fix());
  }
  return static_cast<std::uint32_t>(*value);
}

expected<std::uint32_t> variable_reader::required(std::string_view name, std::uint64_t least,
                                                  std::uint32_t most) const {
  const auto value = TROUPE_TRY(number(name, least, most));
  if (!value) return contradiction(name, fmt::format("is not set, but {} is", marker_));
  return *value;
}

tl::unexpected<error> variable_reader::contradiction(std::string_view name, std::string cause) const {
  return fail(error_code::flags_contradict, std::string(name), std::move(cause), fix());
}

expected<void> variable_reader::check_below(std::string_view name, std::uint32_t index, std::string_view counted,
                                            std::uint32_t count) const {
  if (index < count) return {};
  return contradiction(name, fmt::format("is {}, and {} says that there are {}", index, counted, count));
}

}  // namespace troupe
