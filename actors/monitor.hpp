#pragma once

#include <memory>

#include "actors/protocol.hpp"
#include "actors/report_box.hpp"

namespace troupe {

/// Collects progress and log lines of a run for whoever waits for it.
monitor_actor::behavior_type monitor(monitor_actor::pointer self, std::shared_ptr<report_box> box);

}  // namespace troupe
