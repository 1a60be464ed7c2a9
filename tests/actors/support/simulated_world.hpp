#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stepped_run.hpp"
#include <troupe/ids.hpp>

namespace troupe::testing {

/// A stepped run of a chain, with a hash chain in place of the forward pass.
struct world_options {
  std::uint64_t seed = 0;
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// Nothing: what `depths` say.
  std::optional<std::uint32_t> num_pipe_buffers = 2;

  /// The limits that a trace must keep, by stage.
  [[nodiscard]] std::vector<std::uint32_t> pipe_buffers() const;
  edge_depths depths = {.from_loader = 2, .between_stages = 1};
  /// Micro-batches of each call; all calls are submitted at the start.
  std::vector<std::uint64_t> calls = {1};
  /// That the loader takes each micro-batch for, so that its window holds fewer; 0: not known.
  std::uint64_t micro_batch_bytes = 0;
  /// The sources, so that the loader keeps nothing.
  bool is_rereadable = false;
  /// Forwards on stage 0 that fail the first time / every time.
  std::set<micro_batch_id> fail_once;
  std::set<micro_batch_id> fail_always;
  /// Slower replicas: engines of replica 0 move that much more seldom.
  std::uint32_t slowness_of_replica_0 = 1;
  /// Mutant: off, the checks must find the fault.
  bool enforce_credits = true;
};

struct call_report {
  call_outcome outcome;
  /// Folded ids in the order of folding, and a digest over their hashes in that order.
  std::vector<std::uint64_t> folded;
  std::uint64_t digest = 0;
};

struct world_report : stepped_report {
  std::vector<call_report> calls;
};

world_report simulate(const world_options& options);

/// What a call's digest must be: a plain loop over the hash chain, with no pipeline anywhere near.
std::uint64_t expected_digest(const world_options& options, call_number call);

/// Empty if every sample of every call was folded exactly once, in order, with the right bits, within all limits.
std::string fault_in(const world_options& options, const world_report& report);

std::string describe(const world_options& options);

}  // namespace troupe::testing
