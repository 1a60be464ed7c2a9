#pragma once

#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "program/topology/checked_run.hpp"
#include "runtime/stage/device_body.hpp"
#include "runtime/transport/device_tools.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// LibTorch's kernels for CUDA, if a stage asks for them: before the model computes anything in this process
/// (load_torch_cuda()). An error is that of device_of(), which names the stage.
void load_kernels(const checked_run& run);

/// Where the replica computes. Replicas that ask for "cuda" get the devices of their machine in turn, in the order of
/// the plan's instances. E0110 for a device that this machine lacks.
[[nodiscard]] expected<c10::Device> device_of(const checked_run& run, stage_address at);

/// The device on which all stages with a device are; nothing without any, with several, or where one is missing.
[[nodiscard]] std::optional<c10::Device> only_device(const checked_run& run);

/// For each channel, whether its edge is between memory of two devices in two processes. All channels of an output are
/// or none, so that its tensors are either there or on the host. E0110, E0901, E0902 for devices of `everywhere`.
[[nodiscard]] expected<std::vector<bool>> device_channels(const checked_run& run);

/// By output of a node on a device, where device_channels() are those that are given: it stays for stages of the same
/// process on devices, is laid out or lent for others, and leaves for all else.
[[nodiscard]] std::vector<output_way> ways_of(const checked_run& run, stage_index node,
                                              const std::vector<bool>& channels);

/// Whether device_channels() may find one: stages on devices, in processes of their own, are neighbours.
[[nodiscard]] bool may_join_devices(const checked_run& run);

/// The row of the edges between processes (transport_table.hpp): --transport, or cuda_ipc where `automatic` may join
/// devices.
[[nodiscard]] std::string edge_row_name(const checked_run& run);

/// For a process that offers edges between devices and has no end of any; empty where there are none.
[[nodiscard]] device_tools tools_to_offer(const checked_run& run);
/// What edges of LibTorch's tensors stand on. The device is none of the CPU, and has its number.
[[nodiscard]] device_tools tools_of(c10::Device device);

}  // namespace troupe
