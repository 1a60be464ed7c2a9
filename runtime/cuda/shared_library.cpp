#include "runtime/cuda/shared_library.hpp"

#include <dlfcn.h>

namespace troupe {

expected<shared_library> shared_library::open(const std::string& name) {
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) return shared_library(name, handle);
  const char* reason = ::dlerror();
  return fail(error_code::library_unusable, name, reason == nullptr ? "the loader gives no reason" : reason,
              "Install it, or name its folder in LD_LIBRARY_PATH");
}

void* shared_library::address_or_null(const char* symbol) const noexcept {
  return ::dlsym(handle_, symbol);
}

expected<void*> shared_library::find_address(const char* symbol) const {
  void* address = address_or_null(symbol);
  if (address != nullptr) return address;
  return fail(error_code::library_unusable, name_, std::string("it has no function ") + symbol,
              "Install the version that docs/gpu.md names, or remove the one that is found first");
}

}  // namespace troupe
