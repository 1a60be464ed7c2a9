#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/flow/stage_body.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe::bench {

/// What a worker does on its way to be a stage: "made" (model loaded, optimized), "warmed" (on_start), "ran" (the first
/// micro-batch). It says so on standard error, which its driver reads; both have one clock.
struct worker_step {
  std::string name;
  std::uint32_t stage = 0;
  int pid = 0;
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

/// In a worker.
void say_step(const std::string& name, stage_index stage, std::chrono::nanoseconds begin);
/// In the driver: of a line of its log that is such a step and nothing else.
std::optional<worker_step> parse_step(std::string_view line);

/// A body that says when it has started and when it has run for the first time.
std::shared_ptr<stage_body> with_steps(std::shared_ptr<stage_body> inner, stage_index stage);

}  // namespace troupe::bench
