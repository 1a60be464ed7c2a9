#pragma once

#include <string>

namespace troupe {

/// What all processes of a run must have in common: "0.1.0, wire 1, frames 3". Threads: pure.
[[nodiscard]] std::string version_text();

}  // namespace troupe
