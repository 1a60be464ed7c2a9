#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/launch/scheduler.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The variables of one launcher. An empty variable counts as one that is not set, because scripts unset variables that
/// way. Every error names a variable as its place.
class variable_reader {
 public:
  /// `marker` is the variable by which `launcher` is recognised. All three outlive the reader.
  variable_reader(const environment_lookup& lookup, std::string_view launcher, std::string_view marker)
      : lookup_(lookup), launcher_(launcher), marker_(marker) {}

  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  /// E0103 for a text that is no number from `least` to `most`.
  [[nodiscard]] expected<std::optional<std::uint32_t>> number(std::string_view name, std::uint64_t least,
                                                              std::uint32_t most) const;
  /// The same, and E0104 where the variable is not set although the marker is.
  [[nodiscard]] expected<std::uint32_t> required(std::string_view name, std::uint64_t least, std::uint32_t most) const;
  /// E0104 with the variable `name` as its place.
  [[nodiscard]] tl::unexpected<error> contradiction(std::string_view name, std::string cause) const;
  /// E0104 unless index < count; `counted` is the variable that says the count.
  [[nodiscard]] expected<void> check_below(std::string_view name, std::uint32_t index, std::string_view counted,
                                           std::uint32_t count) const;

 private:
  [[nodiscard]] std::string fix() const;

  const environment_lookup& lookup_;
  std::string_view launcher_;
  std::string_view marker_;
};

}  // namespace troupe
