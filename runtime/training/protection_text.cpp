#include <array>
#include <string>

#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"
#include <troupe/training.hpp>

namespace troupe {

expected<training_protection> protection_of(const std::string& text) {
  static const std::array<std::string, 3> names = {"memory", "shadow", "checkpoint"};
  const std::vector<std::string> parts = split(text, ':');
  if (text == names[0]) return training_protection{};
  if (text == names[1]) return training_protection{.kind = protection_kind::shadow};
  const std::string place = "protection \"" + text + "\"";
  if (parts[0] == names[2]) {
    const auto every = parts.size() == 2 ? number_in<std::uint64_t>(parts[1]) : std::nullopt;
    if (every && *every >= 1 && *every <= training_protection::every_max) {
      return training_protection{.kind = protection_kind::checkpoint, .every = *every};
    }
    return fail(error_code::value_out_of_range, place,
                "expected a number of steps from 1 to " + std::to_string(training_protection::every_max),
                "write checkpoint:100");
  }
  if (parts[0] == names[0] || parts[0] == names[1]) {
    return fail(error_code::value_out_of_range, place, parts[0] + " takes no value", "write " + parts[0]);
  }
  return fail(error_code::unknown_name, place, "unknown protection", suggest_fix(parts[0], names));
}

std::string to_string(const training_protection& protection) {
  if (protection.kind == protection_kind::memory) return "memory";
  if (protection.kind == protection_kind::shadow) return "shadow";
  return "checkpoint:" + std::to_string(protection.every);
}

}  // namespace troupe
