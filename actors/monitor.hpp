#pragma once

#include <memory>

#include "actors/protocol.hpp"
#include "actors/report_box.hpp"

namespace troupe {

/// Collects progress and log records of a run for the thread that waits for it.
monitor_actor::behavior_type monitor(monitor_actor::pointer self, const std::shared_ptr<report_box>& box);

}  // namespace troupe
