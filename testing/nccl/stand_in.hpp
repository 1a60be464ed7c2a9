#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/cuda/nccl_functions.hpp"

/// A library with NCCL's shape for machines without a GPU: communicators of two ranks that send and receive for real,
/// over shared memory, between processes or within one. Streams are those of late_device. It is stricter than NCCL: a
/// send is done when the receive that matches it is, nothing is buffered; another count or type on the other side, and
/// two ends that both send or both receive, are errors of both (ncclInvalidUsage, as asynchronous errors). An operation
/// that failed, or whose peer is gone, stays under way until it is aborted or revoked.
namespace troupe::testing {

[[nodiscard]] nccl::functions stand_in_functions();

/// What goes wrong in this process; copied by a fork. Operations count from 1 on each communicator, the parts of a
/// group one by one; 0: none.
struct stand_in_faults {
  std::atomic<bool> refuse_join{false};
  std::atomic<bool> hang_join{false};
  std::atomic<std::uint64_t> fail_operation{0};
  std::atomic<std::uint64_t> hang_operation{0};
  /// Until it is false again.
  std::atomic<bool> hang_abort{false};

  // What was done.
  std::atomic<std::uint64_t> joined{0};
  std::atomic<std::uint64_t> finalized{0};
  std::atomic<std::uint64_t> revoked{0};
  std::atomic<std::uint64_t> aborted{0};
  /// Communicators that there are.
  std::atomic<std::int64_t> alive{0};
};
[[nodiscard]] stand_in_faults& faults_of_stand_in();

}  // namespace troupe::testing
