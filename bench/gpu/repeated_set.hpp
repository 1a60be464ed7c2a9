#pragma once

#include <cstdint>

#include <troupe/data_set.hpp>

namespace troupe::bench {

/// `samples` samples: those of `data`, read over and over again.
data_set_ptr repeat(data_set_ptr data, std::uint64_t samples);

}  // namespace troupe::bench
