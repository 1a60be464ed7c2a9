#pragma once

#include <string>

namespace troupe::bench {

/// As /proc/cpuinfo names it.
std::string processor();

/// What this program was compiled with.
std::string compiler();

/// Runnable processes over the last minute: above 1 before the start, other programs were using the machine.
double load_average();

}  // namespace troupe::bench
