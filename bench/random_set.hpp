#pragma once

#include <troupe/data_set.hpp>

namespace troupe::bench {

/// Random samples [features] float32 and labels below `features`, the same in every run. A pool of some thousand is
/// read over and over again as if it were an endless data set; a range is a view, so that decoding costs nothing.
data_set_ptr make_random_set(std::int64_t features);

}  // namespace troupe::bench
