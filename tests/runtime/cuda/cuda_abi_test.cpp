// Goal: what Troupe declares of nccl.h and cuda.h is what they declare. Compiled where both headers are.
#include <cstddef>
#include <type_traits>

#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include "runtime/cuda/driver_functions.hpp"
#include "runtime/cuda/nccl_functions.hpp"

namespace troupe {
namespace {

/// A type as a call passes it: pointers are alike, and so are enumerations. Structs are compared one by one.
template <class T>
struct passed {
  using type = T;
};
template <class T>
struct passed<T*> {
  using type = void*;
};
template <class T>
requires std::is_enum_v<T>
struct passed<T> {
  using type = int;
};
template <>
struct passed<nccl::unique_id> {
  using type = ncclUniqueId;
};
template <>
struct passed<cuda_memory_handle> {
  using type = CUipcMemHandle;
};
template <>
struct passed<cuda_event_handle> {
  using type = CUipcEventHandle;
};
template <class>
struct call;
template <class R, class... Arguments>
struct call<R (*)(Arguments...)> {
  using type = typename passed<R>::type (*)(typename passed<Arguments>::type...);
};
template <class Ours, class Theirs>
inline constexpr bool alike = std::is_same_v<typename call<Ours>::type, typename call<Theirs>::type>;

#define TROUPE_ALIKE(functions, ours, theirs) \
  static_assert(alike<decltype(functions::ours), decltype(&theirs)>, #theirs " is declared otherwise")

TROUPE_ALIKE(nccl::functions, get_version, ncclGetVersion);
TROUPE_ALIKE(nccl::functions, get_error_string, ncclGetErrorString);
TROUPE_ALIKE(nccl::functions, get_last_error, ncclGetLastError);
TROUPE_ALIKE(nccl::functions, get_unique_id, ncclGetUniqueId);
TROUPE_ALIKE(nccl::functions, comm_init_rank_config, ncclCommInitRankConfig);
TROUPE_ALIKE(nccl::functions, comm_get_async_error, ncclCommGetAsyncError);
TROUPE_ALIKE(nccl::functions, comm_finalize, ncclCommFinalize);
TROUPE_ALIKE(nccl::functions, comm_destroy, ncclCommDestroy);
TROUPE_ALIKE(nccl::functions, comm_abort, ncclCommAbort);
TROUPE_ALIKE(nccl::functions, send, ncclSend);
TROUPE_ALIKE(nccl::functions, recv, ncclRecv);
TROUPE_ALIKE(nccl::functions, group_start, ncclGroupStart);
TROUPE_ALIKE(nccl::functions, group_end, ncclGroupEnd);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 9)
TROUPE_ALIKE(nccl::functions, comm_revoke, ncclCommRevoke);
#endif

static_assert(sizeof(nccl::unique_id) == sizeof(ncclUniqueId));
static_assert(static_cast<int>(nccl::result::invalid_argument) == ncclInvalidArgument);
static_assert(static_cast<int>(nccl::result::remote_error) == ncclRemoteError);
static_assert(static_cast<int>(nccl::result::in_progress) == ncclInProgress);
static_assert(static_cast<int>(nccl::element::uint8) == ncclUint8);
static_assert(static_cast<int>(nccl::element::float32) == ncclFloat32);
static_assert(static_cast<int>(nccl::element::bfloat16) == ncclBfloat16);
static_assert(static_cast<int>(nccl::element::float8_e5m2) == ncclFloat8e5m2);

TROUPE_ALIKE(driver_functions, init, cuInit);
TROUPE_ALIKE(driver_functions, driver_get_version, cuDriverGetVersion);
TROUPE_ALIKE(driver_functions, get_error_string, cuGetErrorString);
TROUPE_ALIKE(driver_functions, device_get_count, cuDeviceGetCount);
TROUPE_ALIKE(driver_functions, device_get, cuDeviceGet);
TROUPE_ALIKE(driver_functions, device_get_name, cuDeviceGetName);
TROUPE_ALIKE(driver_functions, device_total_mem, cuDeviceTotalMem);
TROUPE_ALIKE(driver_functions, primary_context_retain, cuDevicePrimaryCtxRetain);
TROUPE_ALIKE(driver_functions, primary_context_release, cuDevicePrimaryCtxRelease);
TROUPE_ALIKE(driver_functions, context_set_current, cuCtxSetCurrent);
TROUPE_ALIKE(driver_functions, mem_alloc, cuMemAlloc);
TROUPE_ALIKE(driver_functions, mem_free, cuMemFree);
TROUPE_ALIKE(driver_functions, mem_get_info, cuMemGetInfo);
TROUPE_ALIKE(driver_functions, mem_host_alloc, cuMemHostAlloc);
TROUPE_ALIKE(driver_functions, mem_free_host, cuMemFreeHost);
TROUPE_ALIKE(driver_functions, memcpy_async, cuMemcpyAsync);
TROUPE_ALIKE(driver_functions, stream_create, cuStreamCreate);
TROUPE_ALIKE(driver_functions, stream_destroy, cuStreamDestroy);
TROUPE_ALIKE(driver_functions, stream_wait_event, cuStreamWaitEvent);
TROUPE_ALIKE(driver_functions, event_create, cuEventCreate);
TROUPE_ALIKE(driver_functions, event_destroy, cuEventDestroy);
TROUPE_ALIKE(driver_functions, event_record, cuEventRecord);
TROUPE_ALIKE(driver_functions, event_query, cuEventQuery);
TROUPE_ALIKE(driver_functions, device_can_access_peer, cuDeviceCanAccessPeer);
TROUPE_ALIKE(driver_functions, mem_get_address_range, cuMemGetAddressRange);
TROUPE_ALIKE(driver_functions, ipc_get_mem_handle, cuIpcGetMemHandle);
TROUPE_ALIKE(driver_functions, ipc_open_mem_handle, cuIpcOpenMemHandle);
TROUPE_ALIKE(driver_functions, ipc_close_mem_handle, cuIpcCloseMemHandle);
TROUPE_ALIKE(driver_functions, ipc_get_event_handle, cuIpcGetEventHandle);
TROUPE_ALIKE(driver_functions, ipc_open_event_handle, cuIpcOpenEventHandle);

static_assert(sizeof(cuda_memory_handle) == sizeof(CUipcMemHandle) && sizeof(CUipcMemHandle) == CU_IPC_HANDLE_SIZE);
static_assert(sizeof(cuda_event_handle) == sizeof(CUipcEventHandle) && sizeof(CUipcEventHandle) == CU_IPC_HANDLE_SIZE);

static_assert(static_cast<int>(cuda_result::out_of_memory) == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(static_cast<int>(cuda_result::no_device) == CUDA_ERROR_NO_DEVICE);
static_assert(static_cast<int>(cuda_result::not_ready) == CUDA_ERROR_NOT_READY);
static_assert(cuda_stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(cuda_event_without_time == CU_EVENT_DISABLE_TIMING);
static_assert(cuda_event_interprocess == CU_EVENT_INTERPROCESS);
static_assert(cuda_ipc_with_peer_access == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);

// A newer NCCL appends fields, and reads `version` to know which a caller has.
static_assert(NCCL_VERSION_CODE > 22809 || sizeof(nccl::config) == sizeof(ncclConfig_t));
static_assert(offsetof(nccl::config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(nccl::config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(nccl::config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(nccl::config, name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(nccl::config, nvlink_centric_schedule) == offsetof(ncclConfig_t, nvlinkCentricSched));

TEST(cuda_abi, initial_values_are_those_of_nccl) {
  const nccl::config ours;
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.max_ctas, theirs.maxCTAs);
  EXPECT_EQ(ours.net_name, theirs.netName);
  EXPECT_EQ(ours.nvlink_centric_schedule, theirs.nvlinkCentricSched);
}

}  // namespace
}  // namespace troupe
