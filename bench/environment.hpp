#pragma once

#include <nlohmann/json_fwd.hpp>

namespace troupe::bench {

/// Versions, processor, cores, allocator settings.
nlohmann::ordered_json environment_json();

/// Runnable processes over the last minute: above 1 before the start, somebody else was using the machine.
double load_average();

}  // namespace troupe::bench
