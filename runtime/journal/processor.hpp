#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// Which processor this is, as far as kernels choose their code by it: vendor, family, model and vector instruction
/// sets, from the first processor of /proc/cpuinfo. "unknown" where there is no such file.
std::string this_processor();

/// The same of a text in the form of /proc/cpuinfo (x86 or ARM).
std::string processor_of(std::string_view cpuinfo);

}  // namespace troupe
