#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_findings.hpp"

namespace troupe::cli {

enum class check_level : std::uint8_t { ok, warning, failed };

/// One line of `troupe doctor`.
struct machine_check {
  check_level level;
  std::string subject;
  std::string finding;
};

/// Versions, cores, memory, allocator, GPUs, example files, and a kernel with a known result.
std::vector<machine_check> check_machine(const gpu_findings& gpus);

/// The part of check_machine() that asks LibTorch.
void check_libtorch(std::vector<machine_check>& into);

}  // namespace troupe::cli
