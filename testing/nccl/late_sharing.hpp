#pragma once

#include <memory>

#include "runtime/device/device_sharing.hpp"

namespace troupe::testing {

/// What late devices share with other processes, or within one: memory files, which a handle names by process,
/// descriptor and file. Nothing can be opened once its maker is dead. New memory holds nonsense.
[[nodiscard]] std::shared_ptr<device_sharing> make_late_sharing();

}  // namespace troupe::testing
