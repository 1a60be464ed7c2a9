#pragma once

#include <troupe/ids.hpp>

namespace troupe {

/// loader -> aggregator: call `call` consists of `count` micro-batches, and is complete when that many are folded. It
/// may be repeated with the same count.
struct call_size {
  call_number call = 0;
  std::uint64_t count = 0;
};

}  // namespace troupe
