#pragma once

#include <span>
#include <string>
#include <string_view>

#include "command.hpp"
#include "runtime/config/resolve.hpp"

namespace troupe::cli {

// For commands that evaluate several times, by commands of their own.

/// The options in force, wherever they came from, as flags of an evaluation; without those of `left_out`, and without
/// faults: an evaluation must not find them in a file or variable.
[[nodiscard]] arguments words_of(const resolved_options& asked, std::span<const std::string_view> left_out);

/// E0104 where one of these options is given; `cause` says why the command has no use for it.
[[nodiscard]] expected<void> refuse_given(const resolved_options& asked, std::span<const std::string_view> names,
                                          const std::string& cause);

/// A launch has one driver, which its agents join; each evaluation here has its own. Behind a script the launcher does
/// not see what it starts. E0104 with this fix.
[[nodiscard]] expected<void> refuse_launch(const std::string& command, const std::string& fix);

}  // namespace troupe::cli
