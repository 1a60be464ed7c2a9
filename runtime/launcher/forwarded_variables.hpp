#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/launch/scheduler.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Names and values, each name once, by name.
using variable_map = std::map<std::string, std::string, std::less<>>;

/// The file of variables for all nodes, in the home and in the working directory (DeepSpeed's .deepspeed_env).
inline constexpr std::string_view variables_file = ".troupe_env";

/// Can a variable have this name: letters, digits and '_' of ASCII, no digit in front?
bool is_variable_name(std::string_view name) noexcept;

/// Is the variable forwarded where it is set: TROUPE_, OMP_, MKL_ and NCCL_ in front? Never one that makes a program a
/// driver, a worker or a try-out process.
bool is_forwarded(std::string_view name) noexcept;

/// Reads lines NAME=VALUE; the value is all behind the first '=', with its blanks. Lines that are blank or start with
/// '#' say nothing. `file` is its name in messages.
///
/// Errors have the place "FILE:LINE:COLUMN", in bytes from 1. E0402 for a line of another form, and for a text of more
/// than limits::launch_variables_bytes_max; E0404 for a name twice and for a variable that is Troupe's own.
expected<variable_map> parse_variables(std::string_view text, std::string_view file);

/// The same from a file; none where there is no file. E0401 for one that cannot be read.
expected<variable_map> read_variables(const std::string& path);

/// What --env says: "NAME=VALUE", or "NAME" for the value that it has here. E0103 for anything else, also where it has
/// none.
expected<std::pair<std::string, std::string>> read_variable_flag(std::string_view text,
                                                                 const environment_lookup& lookup);

/// All variables for the nodes. Those that stand further behind win: forwarded ones of `own` ("NAME=VALUE", as in
/// environ), the file in `home`, the file in `directory`, the flags. No `home` is an empty path. The errors of the
/// functions above, and E0103 for more than limits::launch_variables_max.
expected<variable_map> collect_variables(std::span<const std::string> own, const std::string& home,
                                         const std::string& directory, std::span<const std::string> flags);

}  // namespace troupe
