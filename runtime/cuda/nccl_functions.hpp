#pragma once

#include <climits>
#include <cstddef>

#include "runtime/cuda/cuda_types.hpp"

namespace troupe {

// What is used of NCCL's interface, declared here so that the build needs no nccl.h. Names, values and layouts are
// those of nccl.h 2.28; cuda_abi_test compares them with it.

/// `in_progress` is no error: the operation of a communicator that does not block goes on.
enum class nccl_result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

/// Payloads travel as bytes: their types are announced by the control plane.
enum class nccl_data_type : int { uint8 = 1 };

/// Names a communicator. One rank makes it; the control plane carries it to the other.
struct nccl_unique_id {
  char bytes[128];
};

/// A communicator of this process, opaque.
using nccl_comm = struct nccl_comm_state*;

/// How a communicator behaves. A field that keeps its initial value is NCCL's to choose. `version` tells NCCL which
/// fields the struct has, so an older or newer library reads no more than there is.
struct nccl_config {
  static constexpr int chosen_by_nccl = INT_MIN;

  std::size_t size = sizeof(nccl_config);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 22809;
  /// 0: calls return `in_progress` in place of waiting.
  int blocking = chosen_by_nccl;
  int cga_cluster_size = chosen_by_nccl;
  int min_ctas = chosen_by_nccl;
  int max_ctas = chosen_by_nccl;
  const char* net_name = nullptr;
  int split_share = chosen_by_nccl;
  int traffic_class = chosen_by_nccl;
  const char* comm_name = nullptr;
  int collnet_enable = chosen_by_nccl;
  int cta_policy = chosen_by_nccl;
  int shrink_share = chosen_by_nccl;
  int nvls_ctas = chosen_by_nccl;
  int channels_per_net_peer = chosen_by_nccl;
  int nvlink_centric_schedule = chosen_by_nccl;
};

/// NCCL's functions as pointers, so that a stand-in of the same shape can take their place.
///
/// None is null, but for those marked optional.
struct nccl_functions {
  nccl_result (*get_version)(int* version) = nullptr;
  const char* (*get_error_string)(nccl_result result) = nullptr;
  /// The words of the last error of this process; `comm` may be null.
  const char* (*get_last_error)(nccl_comm comm) = nullptr;
  nccl_result (*get_unique_id)(nccl_unique_id* id) = nullptr;
  nccl_result (*comm_init_rank_config)(nccl_comm* comm, int ranks, nccl_unique_id id, int rank,
                                       nccl_config* config) = nullptr;
  nccl_result (*comm_get_async_error)(nccl_comm comm, nccl_result* result) = nullptr;
  nccl_result (*comm_finalize)(nccl_comm comm) = nullptr;
  nccl_result (*comm_destroy)(nccl_comm comm) = nullptr;
  nccl_result (*comm_abort)(nccl_comm comm) = nullptr;
  /// Optional: NCCL 2.28 and newer. Stops what is in flight; `flags` is 0.
  nccl_result (*comm_revoke)(nccl_comm comm, int flags) = nullptr;
  nccl_result (*send)(const void* from, std::size_t count, nccl_data_type type, int peer, nccl_comm comm,
                      cuda_stream stream) = nullptr;
  nccl_result (*recv)(void* into, std::size_t count, nccl_data_type type, int peer, nccl_comm comm,
                      cuda_stream stream) = nullptr;
  nccl_result (*group_start)() = nullptr;
  nccl_result (*group_end)() = nullptr;
};

}  // namespace troupe
