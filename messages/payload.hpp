#pragma once

#include <memory>

namespace troupe {

/// What a message carries beside itself: an opaque handle. The one real kind is tensor_set (runtime/tensor); the
/// simulator has a hash in its place. Messages, edges and engines move handles and never look inside.
class payload {
 public:
  payload() = default;
  payload(const payload&) = delete;
  payload& operator=(const payload&) = delete;
  virtual ~payload() = default;
};

/// Shared, because a loader keeps what it sent until the low-water mark passes it. A payload is immutable once sent.
using payload_ptr = std::shared_ptr<const payload>;

}  // namespace troupe
