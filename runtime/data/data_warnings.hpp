#pragma once

#include <string>
#include <vector>

#include <troupe/data_set.hpp>

namespace troupe {

/// For the result of a run on these data: why samples were left out, and what else the data remark.
[[nodiscard]] std::vector<std::string> warnings_about(const data_set& data);

}  // namespace troupe
