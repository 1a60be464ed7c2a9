#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "messages/error.hpp"

namespace troupe::cli {

enum class parsed : std::uint8_t { go_on, help_printed };

/// An empty parser for `troupe NAME`; `examples` stand below the options in its help.
struct parser : CLI::App {
  parser(const std::string& name, const std::string& description, const std::string& examples);
};

/// Lets CLI11 read the arguments. Everything it objects to is a usage error: E0101 with a suggestion, E0103, E0104,
/// E0105. So is an empty value, of whatever option (E0103): it is what an unset variable of a script leaves.
expected<parsed> parse(parser& into, const arguments& given);

}  // namespace troupe::cli
