#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <troupe/result.hpp>

namespace troupe {

// Tables that several results have in common, in lines of at most `width` columns.
std::string stage_table(const std::vector<stage_report>& stages, std::size_t width);
std::string fault_table(const std::vector<fault_report>& faults, std::size_t width);

}  // namespace troupe
