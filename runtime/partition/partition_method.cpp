#include "runtime/partition/partition_method.hpp"

#include <array>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/partition/type_regex.hpp"
#include "runtime/suggest/trimmed.hpp"

namespace troupe {
namespace {

constexpr std::string_view place = "partition";
constexpr std::string_view type_prefix = "type:";

struct plain_method {
  std::string_view name;
  partition_kind kind;
};
constexpr std::array<plain_method, 5> plain_methods{{{"auto", partition_kind::automatic},
                                                     {"uniform", partition_kind::uniform},
                                                     {"parameters", partition_kind::parameters},
                                                     {"profile", partition_kind::profile},
                                                     {"balanced", partition_kind::balanced}}};

tl::unexpected<error> bad_boundaries(std::string cause) {
  return fail(
      error_code::partition_bad_boundaries, std::string(place), std::move(cause),
      "write the first layer of every stage and then the number of layers, increasing from 0, for example 0,4,15");
}

expected<std::size_t> parse_boundary(std::string_view field) {
  field = trimmed(field);
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc{} || end != field.data() + field.size()) {
    return bad_boundaries(fmt::format("'{}' is not a layer number", field));
  }
  return value;
}

expected<partition_method> parse_boundaries(std::string_view text) {
  partition_method method{.kind = partition_kind::boundaries, .regex = {}, .boundaries = {}};
  auto& list = method.boundaries;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto value = parse_boundary(text.substr(at, comma - at));
    if (!value) {
      return tl::make_unexpected(value.error());
    }
    if (list.empty() ? *value != 0 : *value <= list.back()) {
      return bad_boundaries(list.empty() ? fmt::format("the first boundary is {}, not 0", *value)
                                         : fmt::format("boundary {} follows {}", *value, list.back()));
    }
    list.push_back(*value);
    if (list.size() > limits::stages_max + 1) {
      return bad_boundaries(fmt::format("more than {} stages", limits::stages_max));
    }
    at = comma + 1;
  }
  if (list.size() < 2) {
    return bad_boundaries("one boundary alone makes no stage");
  }
  return method;
}

}  // namespace

std::optional<std::size_t> partition_method::parts() const {
  return kind == partition_kind::boundaries ? std::optional(boundaries.size() - 1) : std::nullopt;
}

expected<partition_method> parse_partition_method(std::string_view text) {
  for (const plain_method& plain : plain_methods) {
    if (text == plain.name) {
      return partition_method{.kind = plain.kind, .regex = {}, .boundaries = {}};
    }
  }
  if (text.starts_with(type_prefix)) {
    std::string regex(text.substr(type_prefix.size()));
    return check_regex(regex).map([&] {
      return partition_method{.kind = partition_kind::type_regex, .regex = std::move(regex), .boundaries = {}};
    });
  }
  const bool numeric = !text.empty() && text.find_first_not_of("0123456789,+- ") == std::string_view::npos;
  if (numeric) {
    return parse_boundaries(text);
  }
  return fail(error_code::unknown_name, std::string(place), fmt::format("there is no partition method '{}'", text),
              "choose auto, uniform, parameters, type:REGEX, profile or a list of boundaries such as 0,4,15");
}

std::string to_string(const partition_method& method) {
  switch (method.kind) {
    case partition_kind::type_regex:
      return fmt::format("{}{}", type_prefix, method.regex);
    case partition_kind::boundaries:
      return fmt::format("{}", fmt::join(method.boundaries, ","));
    default:
      for (const plain_method& plain : plain_methods) {
        if (plain.kind == method.kind) {
          return std::string(plain.name);
        }
      }
  }
  TROUPE_CHECK(false, "every kind has a spelling");
}

}  // namespace troupe
