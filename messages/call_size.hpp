#pragma once

#include <troupe/ids.hpp>

namespace troupe {

/// Twice in the protocol. Over the control plane, loader -> aggregator: call `call` consists of `count` micro-batches,
/// it is complete when that many are folded. On an edge: a flush that takes no credit, may be repeated, and changes no
/// result.
struct call_size {
  call_number call = 0;
  std::uint64_t count = 0;
};

}  // namespace troupe
