#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/worker_environment.hpp"
#include <troupe/options.hpp>

namespace troupe::bench {

/// An evaluation whose workers are killed.
struct recovery_case {
  std::string model;  ///< "lenet", "resnet20"
  std::uint64_t micro_batch = 64;
  std::uint32_t stages = 2;
  /// The spare is killed with the stage, so that its replacement begins with a program's start.
  bool cold = false;
};

[[nodiscard]] eval_options options_of(const recovery_case& which);

/// For the workers that are started from now on: they have the arguments of their driver, and cannot tell from these
/// which case it is at. Call it while there are no other threads that read the environment.
void announce(const recovery_case& which);

/// This process is a worker of the case that was announced: the one of `troupe eval`, which says its steps.
[[noreturn]] void serve_recovery_case();

}  // namespace troupe::bench
