#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/config/setting.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Puts options of data that came as flags, each a name and a text, over those in the text `data`, which came from
/// `from`: a later place wins. Gives the canonical text. Errors: E0102 an option that the kind does not have, which
/// names the kinds that have it; E0103 a bad value; E0104 an option that stands in a flag --data, too; E0105 no data.
expected<std::string> with_data_flags(const std::string& data, const origin& from,
                                      const std::vector<std::pair<std::string, std::string>>& flags);

/// "--resize"; "--data-dtype" for an option whose name an option of an evaluation has, too.
std::string data_flag_name(std::string_view option);

}  // namespace troupe
