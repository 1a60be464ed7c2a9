#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/code_scan.hpp"

namespace troupe {

/// Calls that LibTorch may make when it loads an object, all within each other; those of quantized layers are some ten.
inline constexpr std::uint64_t load_time_calls_max = 10'000;

/// The functions of an archive by name, and which of them LibTorch runs when it loads the archive.
class load_time_calls {
 public:
  /// `module` is the one that the function is in: "__torch__.a".
  void add(const std::string& module, code_function function);

  /// The first place that may take any time or memory in what __setstate__ calls, with its module. A name counts as a
  /// call wherever it stands, of every function of that name in the archive. Operators call functions with two
  /// underscores in front.
  [[nodiscard]] std::optional<std::pair<std::string, code_effect>> risk() const;

 private:
  struct known {
    std::string module;
    code_function function;
  };
  using found = std::optional<std::pair<std::string, code_effect>>;

  std::uint64_t count_calls(const std::string& name, std::map<std::string, std::uint64_t>& counted, std::size_t depth,
                            found& risk) const;
  std::uint64_t count_calls_in(const known& one, std::map<std::string, std::uint64_t>& counted, std::size_t depth,
                               found& risk) const;

  std::multimap<std::string, known> functions_;
};

}  // namespace troupe
