#pragma once

#include <functional>
#include <memory>

#include <troupe/error.hpp>

namespace troupe {

struct ipc_tools;
struct nccl_tools;

/// What edges between devices stand on in this process. Each is asked for when the first end of such an edge is opened:
/// a worker hears which device it has after its transport is there. Empty: there can be no such edge (E0110).
struct device_tools {
  std::function<expected<std::shared_ptr<const nccl_tools>>()> nccl = nullptr;
  std::function<expected<std::shared_ptr<const ipc_tools>>()> ipc = nullptr;
};

}  // namespace troupe
