#include "runtime/cuda/cuda_driver.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/cuda/function_finder.hpp"

namespace troupe {
namespace {

// A suffix _v2 is the driver's own: cuda.h gives the name without it to the newest.
expected<driver_functions> driver_functions_of(const shared_library& library) {
  driver_functions made;
  function_finder find(library);
  find("cuInit", made.init)("cuDriverGetVersion", made.driver_get_version);
  find("cuGetErrorString", made.get_error_string)("cuDeviceGetCount", made.device_get_count);
  find("cuDeviceGet", made.device_get)("cuDeviceGetName", made.device_get_name);
  find("cuDeviceTotalMem_v2", made.device_total_mem)("cuDevicePrimaryCtxRetain", made.primary_context_retain);
  find("cuDevicePrimaryCtxRelease_v2", made.primary_context_release)("cuCtxSetCurrent", made.context_set_current);
  find("cuMemAlloc_v2", made.mem_alloc)("cuMemFree_v2", made.mem_free)("cuMemGetInfo_v2", made.mem_get_info);
  find("cuMemHostAlloc", made.mem_host_alloc)("cuMemFreeHost", made.mem_free_host)("cuMemcpyAsync", made.memcpy_async);
  find("cuStreamCreate", made.stream_create)("cuStreamDestroy_v2", made.stream_destroy);
  find("cuStreamWaitEvent", made.stream_wait_event)("cuEventCreate", made.event_create);
  find("cuEventDestroy_v2", made.event_destroy)("cuEventRecord", made.event_record)("cuEventQuery", made.event_query);
  if (!find.found()) return tl::make_unexpected(find.found().error());
  library.find_optional("cuDeviceCanAccessPeer", made.device_can_access_peer);
  library.find_optional("cuMemGetAddressRange_v2", made.mem_get_address_range);
  library.find_optional("cuIpcGetMemHandle", made.ipc_get_mem_handle);
  library.find_optional("cuIpcOpenMemHandle_v2", made.ipc_open_mem_handle);
  library.find_optional("cuIpcCloseMemHandle", made.ipc_close_mem_handle);
  library.find_optional("cuIpcGetEventHandle", made.ipc_get_event_handle);
  library.find_optional("cuIpcOpenEventHandle", made.ipc_open_event_handle);
  return made;
}

}  // namespace

expected<cuda_driver> cuda_driver::load(const std::string& name) {
  const auto library = TROUPE_TRY(shared_library::open(name));
  const auto functions = TROUPE_TRY(driver_functions_of(library));
  return of(functions, name);
}

expected<cuda_driver> cuda_driver::of(const driver_functions& functions, const std::string& name) {
  cuda_driver made(functions, name);
  const cuda_result started = functions.init(0);
  // A driver without devices starts with this error, and then answers nothing but its version.
  if (started != cuda_result::success && started != cuda_result::no_device) {
    return tl::make_unexpected(made.describe(started, "cuInit", name));
  }
  const cuda_result known = functions.driver_get_version(&made.version_);
  if (known != cuda_result::success) return tl::make_unexpected(made.describe(known, "cuDriverGetVersion", name));
  if (started == cuda_result::no_device) return made;
  if (auto read = made.read_devices(); !read) return tl::make_unexpected(std::move(read.error()));
  return made;
}

expected<void> cuda_driver::read_devices() {
  int count = 0;
  cuda_result result = functions_.device_get_count(&count);
  if (result != cuda_result::success) return tl::make_unexpected(describe(result, "cuDeviceGetCount", name_));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const std::string where = fmt::format("cuda:{}", ordinal);
    int device = 0;
    std::array<char, 256> text{};
    std::size_t bytes = 0;
    result = functions_.device_get(&device, ordinal);
    if (result != cuda_result::success) return tl::make_unexpected(describe(result, "cuDeviceGet", where));
    result = functions_.device_get_name(text.data(), static_cast<int>(text.size() - 1), device);
    if (result != cuda_result::success) return tl::make_unexpected(describe(result, "cuDeviceGetName", where));
    result = functions_.device_total_mem(&bytes, device);
    if (result != cuda_result::success) return tl::make_unexpected(describe(result, "cuDeviceTotalMem", where));
    devices_.push_back({ordinal, text.data(), bytes});
  }
  return {};
}

std::string cuda_driver::version_text() const {
  return cuda_version_text(version_);
}

error cuda_driver::describe(cuda_result result, const char* function, std::string where) const {
  const char* text = nullptr;
  const bool known = functions_.get_error_string(result, &text) == cuda_result::success && text != nullptr;
  const std::string words = known ? text : fmt::format("error {}", static_cast<int>(result));
  return error{error_code::device_failed, std::move(where), fmt::format("{}: {}", function, words),
               "`troupe doctor` shows what the driver finds"};
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

expected<std::string> cuda_runtime_version(const std::string& name) {
  const auto library = TROUPE_TRY(shared_library::open(name));
  int (*get_version)(int*) = nullptr;
  if (auto found = library.find("cudaRuntimeGetVersion", get_version); !found) {
    return tl::make_unexpected(std::move(found.error()));
  }
  int version = 0;
  if (get_version(&version) != 0 || version <= 0) {
    return fail(error_code::library_unusable, name, "cudaRuntimeGetVersion gives no version");
  }
  return cuda_version_text(version);
}

}  // namespace troupe
