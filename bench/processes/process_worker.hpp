#pragma once

#include <cstdint>
#include <string>

#include "runtime/process/worker_environment.hpp"
#include <troupe/options.hpp>

namespace troupe::bench {

/// What a worker of this benchmark is to be.
struct worker_case {
  std::string model;
  std::uint32_t stages = 2;
  bool heartbeats = true;
  enum class edges : std::uint8_t { shm, tcp, tcp_without_crc };
  edges over = edges::shm;
};

/// For the workers that are started from now on: they have the arguments of their driver, and cannot tell from these
/// what it is at. Call it while no other thread reads the environment.
void announce(const worker_case& which);

/// For the driver of such workers.
worker_options options_of(const worker_case& which);

/// This process is a worker of the case that was announced.
[[noreturn]] void serve_case();

}  // namespace troupe::bench
