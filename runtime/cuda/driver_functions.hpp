#pragma once

#include <array>
#include <cstddef>

#include "runtime/cuda/nccl_functions.hpp"

namespace troupe {

// The used part of the CUDA driver's interface, declared here so that the build needs no cuda.h. Values and layouts are
// those of cuda.h 13.0; cuda_abi_test checks that.

/// `not_ready` is no error: an event or stream has work to do.
enum class cuda_result : int { success = 0, out_of_memory = 2, no_device = 100, not_ready = 600 };

/// A stream is a cudaStream_t, too.
using cuda_stream = nccl::stream;
using cuda_event = struct cuda_event_state*;
/// The driver's context of a device in this process.
using cuda_context = struct cuda_context_state*;

/// A device's memory is addressed by number.
using cuda_address = unsigned long long;

/// By which another process opens memory, or an event. Passed by value.
struct cuda_memory_handle {
  std::array<char, 64> bytes;
};
struct cuda_event_handle {
  std::array<char, 64> bytes;
};

/// The driver's functions as pointers, so that a stand-in of the same shape can take their place. None is null, but
/// those between processes.
struct driver_functions {
  cuda_result (*init)(unsigned int flags) = nullptr;
  cuda_result (*driver_get_version)(int* version) = nullptr;
  cuda_result (*get_error_string)(cuda_result result, const char** text) = nullptr;
  cuda_result (*device_get_count)(int* count) = nullptr;
  cuda_result (*device_get)(int* device, int ordinal) = nullptr;
  cuda_result (*device_get_name)(char* name, int length, int device) = nullptr;
  cuda_result (*device_total_mem)(std::size_t* bytes, int device) = nullptr;

  cuda_result (*primary_context_retain)(cuda_context* context, int device) = nullptr;
  cuda_result (*primary_context_release)(int device) = nullptr;
  cuda_result (*context_set_current)(cuda_context context) = nullptr;

  cuda_result (*mem_alloc)(cuda_address* address, std::size_t bytes) = nullptr;
  cuda_result (*mem_free)(cuda_address address) = nullptr;
  cuda_result (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  /// Pinned memory of the host, readable by all devices.
  cuda_result (*mem_host_alloc)(void** address, std::size_t bytes, unsigned int flags) = nullptr;
  cuda_result (*mem_free_host)(void* address) = nullptr;
  /// Between any two of host and device: the driver knows addresses apart.
  cuda_result (*memcpy_async)(cuda_address into, cuda_address from, std::size_t bytes, cuda_stream stream) = nullptr;

  cuda_result (*stream_create)(cuda_stream* stream, unsigned int flags) = nullptr;
  cuda_result (*stream_destroy)(cuda_stream stream) = nullptr;
  cuda_result (*stream_wait_event)(cuda_stream stream, cuda_event event, unsigned int flags) = nullptr;
  cuda_result (*event_create)(cuda_event* event, unsigned int flags) = nullptr;
  cuda_result (*event_destroy)(cuda_event event) = nullptr;
  cuda_result (*event_record)(cuda_event event, cuda_stream stream) = nullptr;
  /// Never waits.
  cuda_result (*event_query)(cuda_event event) = nullptr;

  // Between processes, and between devices. Null in a driver that has none.
  cuda_result (*device_can_access_peer)(int* can, int device, int peer) = nullptr;
  cuda_result (*mem_get_address_range)(cuda_address* base, std::size_t* bytes, cuda_address within) = nullptr;
  cuda_result (*ipc_get_mem_handle)(cuda_memory_handle* handle, cuda_address address) = nullptr;
  cuda_result (*ipc_open_mem_handle)(cuda_address* address, cuda_memory_handle handle, unsigned int flags) = nullptr;
  cuda_result (*ipc_close_mem_handle)(cuda_address address) = nullptr;
  cuda_result (*ipc_get_event_handle)(cuda_event_handle* handle, cuda_event event) = nullptr;
  cuda_result (*ipc_open_event_handle)(cuda_event* event, cuda_event_handle handle) = nullptr;

  [[nodiscard]] bool has_ipc() const noexcept {
    return device_can_access_peer && mem_get_address_range && ipc_get_mem_handle && ipc_open_mem_handle &&
           ipc_close_mem_handle && ipc_get_event_handle && ipc_open_event_handle;
  }
};

/// A stream that does not wait for the driver's default stream, CU_STREAM_NON_BLOCKING.
inline constexpr unsigned int cuda_stream_non_blocking = 1;
/// An event that keeps no time, CU_EVENT_DISABLE_TIMING: cheaper to record.
inline constexpr unsigned int cuda_event_without_time = 2;
/// An event that other processes can open, CU_EVENT_INTERPROCESS; only one without time.
inline constexpr unsigned int cuda_event_interprocess = 4;
/// Memory of another device is made accessible when it is opened, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.
inline constexpr unsigned int cuda_ipc_with_peer_access = 1;

}  // namespace troupe
