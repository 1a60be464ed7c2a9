// What the sources of devices_test share.
#pragma once

#include <cstdint>
#include <vector>

#include <troupe/evaluator.hpp>

namespace troupe::testing {

/// Of all metrics; a failed run is a failure of the test.
[[nodiscard]] std::vector<std::uint64_t> words_of(const expected<run_result>& result);

/// In a worker of joined_devices_test.cpp: becomes one. False in any other process.
[[nodiscard]] bool serve_joined();

}  // namespace troupe::testing
