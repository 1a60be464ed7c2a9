#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload.hpp"

namespace troupe::bench {

/// Microseconds per micro-batch in one round.
struct round_times {
  double plain_1 = 0;  ///< plain loop, one intra-op thread
  double plain_2 = 0;
  double whole_1 = 0;  ///< plain loop over the model as LibTorch optimizes it
  double stages_1 = 0;
  double stages_1_threads_2 = 0;
  double stages_2 = 0;
  double replicas_2 = 0;
  std::vector<double> alone;     ///< each of the two stages, run alone
  std::vector<double> together;  ///< each of the two stages busy, inside the pipeline
};

struct measured_workload {
  std::uint64_t micro_batches = 0;
  std::vector<std::size_t> boundaries;
  std::vector<round_times> rounds;
  /// Variants with one intra-op thread whose metrics differ from the plain loop's in any bit.
  std::vector<std::string> different;
};

struct round_options {
  std::uint32_t rounds = 7;
  double seconds = 0.3;
};

/// Runs all variants in turn, round after round, beginning with another one each time; the first round is discarded.
/// One variant is active at a time.
expected<measured_workload> measure(const workload& work, const round_options& options);

}  // namespace troupe::bench
