#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <troupe/fault_plan.hpp>

namespace troupe {

enum class fault_parameter : std::uint8_t { lasts, delay, jitter, bytes, direction };

/// A set of enumerators.
template <class Kind>
struct kind_set {
  std::uint32_t bits = 0;

  [[nodiscard]] constexpr bool has(Kind one) const { return (bits >> static_cast<unsigned>(one) & 1U) != 0; }
};
template <class... Kinds>
constexpr auto set_of(Kinds... kinds) {
  using kind = std::common_type_t<Kinds...>;
  return kind_set<kind>{((1U << static_cast<unsigned>(kinds)) | ... | 0U)};
}

/// What faults of one kind take. This table is the only list: parser, checks, random plans and docs/faults.md follow
/// from it.
struct fault_row {
  fault_kind kind;
  std::string_view name;
  kind_set<fault_target_kind> targets;
  kind_set<fault_trigger_kind> triggers;
  kind_set<fault_parameter> parameters;
  kind_set<fault_parameter> required;
};

/// In the order of fault_kind.
std::span<const fault_row> all_fault_rows();
const fault_row& row_of(fault_kind kind);

/// The key of a parameter in texts: "for".
std::string_view parameter_name(fault_parameter which);
/// "forward", "back".
std::string_view direction_name(fault_direction which);
/// Stage, worker, ...: with its article, for sentences.
std::string_view target_phrase(fault_target_kind kind);

/// Only a training has this moment.
[[nodiscard]] bool is_moment_of_step(fault_trigger_kind kind);
/// "backward", "vote", "decision", "apply", "recovery".
[[nodiscard]] std::string_view moment_name(fault_trigger_kind kind);

/// Which part of a fault is wrong.
enum class fault_part : std::uint8_t { kind, target, replica, trigger, lasts, delay, jitter, bytes, direction };
struct fault_objection {
  fault_part part;
  std::string cause;
  std::string fix = {};
};
/// Why a fault cannot be; nothing if it can.
std::optional<fault_objection> objection_to(const fault& one);

}  // namespace troupe
