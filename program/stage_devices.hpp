#pragma once

#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "runtime/topology/wiring_plan.hpp"
#include <troupe/error.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// As the stage's options name it; "cpu" for a join or route.
[[nodiscard]] std::string asked_device(const topology& what, const wiring_plan& plan, stage_index node);

/// Where the replica computes. Replicas that ask for "cuda" get the devices of their machine in turn, in the order of
/// the plan's instances. E0110 for a device that this machine lacks.
[[nodiscard]] expected<c10::Device> device_of(const topology& what, const wiring_plan& plan, stage_address at);

/// For each output of a node on a device: whether it leaves for the host. It stays where all that take it are stages on
/// devices in the same process. `are_apart`: each stage has a process of its own.
[[nodiscard]] std::vector<bool> leaving_outputs(const topology& what, const wiring_plan& plan, stage_index node,
                                                bool are_apart);

}  // namespace troupe
