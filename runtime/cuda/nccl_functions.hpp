#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>

/// The part of NCCL's C interface that edges use, declared here so that nothing needs its header: the library is loaded
/// at run time (nccl_library.hpp). Layouts and numbers are those of nccl.h 2.28; cuda_abi_test compares them with it.
namespace troupe::nccl {

struct communicator_handle;
using communicator = communicator_handle*;
struct stream_handle;
/// A cudaStream_t.
using stream = stream_handle*;

enum class result : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7,
};

enum class element : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9,
  float8_e4m3 = 10,
  float8_e5m2 = 11,
};
/// 0 for a number that is none.
[[nodiscard]] constexpr std::uint64_t bytes_of(element type) noexcept {
  constexpr std::array<std::uint8_t, 12> sizes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const auto at = static_cast<std::size_t>(type);
  return at < sizes.size() ? sizes[at] : 0;
}

struct unique_id {
  std::array<char, 128> bytes;
};

struct config {
  std::size_t size = sizeof(config);
  std::uint32_t magic = 0xcafebeef;
  std::uint32_t version = 22809;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
  int channels_per_net_peer = INT_MIN;
  int nvlink_centric_schedule = INT_MIN;
};
static_assert(sizeof(config) == 80 && sizeof(unique_id) == 128);

/// Each is the function of nccl.h of that name. Threads: as NCCL has it, one at a time per communicator; abort and
/// revoke may come from another one.
struct functions {
  result (*get_version)(int* version) = nullptr;
  result (*get_unique_id)(unique_id* id) = nullptr;
  result (*comm_init_rank_config)(communicator* made, int ranks, unique_id id, int rank, config* how) = nullptr;
  result (*comm_finalize)(communicator of) = nullptr;
  result (*comm_destroy)(communicator of) = nullptr;
  result (*comm_abort)(communicator of) = nullptr;
  /// Null in a library that has none.
  result (*comm_revoke)(communicator of, int flags) = nullptr;
  result (*comm_get_async_error)(communicator of, result* found) = nullptr;
  result (*send)(const void* from, std::size_t count, element type, int peer, communicator over, stream on) = nullptr;
  result (*recv)(void* into, std::size_t count, element type, int peer, communicator over, stream on) = nullptr;
  result (*group_start)() = nullptr;
  result (*group_end)() = nullptr;
  const char* (*get_error_string)(result what) = nullptr;
  /// The words of the last failure in this process.
  const char* (*get_last_error)(communicator of) = nullptr;
};

}  // namespace troupe::nccl
