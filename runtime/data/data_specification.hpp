#pragma once

#include <string>
#include <vector>

#include "runtime/data/data_kinds.hpp"
#include "runtime/data/data_option.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Which data a user means, with their options: what the text KIND:PATH,NAME=VALUE,..., the table [data] of TOML and
/// the flags of a command all become. The text is the canonical form.
///
/// In the text parts are separated by commas. The first is the path; each other one is NAME=VALUE, the name of a toggle
/// alone, or a value of a choice that may stand alone. Items of a list have + between them. A part, a value or an item
/// that has such a character, or begins with a double quote, is written in double quotes, in which "" stands for one:
/// csv:"a,b.csv",label="x+y". Quotes elsewhere are characters like others.
struct data_specification {
  const data_kind* kind = nullptr;
  std::vector<std::string> paths = {};
  data_options options = {};
};

/// Errors: no kind, no path, a bad value E0103; an unknown kind or option E0102, with a suggestion.
expected<data_specification> parse_data(const std::string& text);

/// The text that parse_data() reads as the same.
std::string to_string(const data_specification& data);
/// Its options alone: ",label=start+end".
std::string options_text(const data_specification& data);

/// E0102: the kind has no option `name`. Says which kinds have one, or which name is near.
tl::unexpected<error> no_such_option(const data_kind& kind, const std::string& name, const std::string& where);

/// Every option of any kind, each name once, in the order of data_kinds.
std::vector<const data_option*> all_data_options();
/// "imagefolder, webdataset": the kinds that have an option of that name.
std::string kinds_with(std::string_view option);

}  // namespace troupe
