#pragma once

#include <nlohmann/json_fwd.hpp>

namespace troupe::bench {

/// Versions, processor, cores, allocator settings.
nlohmann::ordered_json environment_json();

}  // namespace troupe::bench
