#pragma once

#include <string>
#include <string_view>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>

namespace troupe {

/// The lines of a file of predictions, which may come from an untrusted peer, with the ids of their samples:
/// {"sample": 3, "id": "a7", ...}. As they are where the data have no ids. Errors: nothing but E0604 and what
/// data_set::ids() tells for ids; `malformed` where a line does not begin with a sample of the data.
[[nodiscard]] expected<std::string> with_ids(std::string_view lines, const data_set& data, const error& malformed);

}  // namespace troupe
