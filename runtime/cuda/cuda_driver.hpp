#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/driver_functions.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A device that the driver lists.
struct cuda_device_info {
  /// N in "cuda:N". CUDA_VISIBLE_DEVICES has its say.
  int ordinal = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;

  friend bool operator==(const cuda_device_info&, const cuda_device_info&) = default;
};

/// The CUDA driver, loaded at run time, or a stand-in of its shape. A machine without GPUs has none.
class cuda_driver {
 public:
  /// The library's name on every machine with the driver.
  static constexpr const char* default_name = "libcuda.so.1";

  /// Loads `name` and starts the driver. E0901 where it is missing, is no library or lacks a function; E0902 with the
  /// driver's words where it does not start. A machine whose driver finds no device gives an empty list of devices.
  static expected<cuda_driver> load(const std::string& name = default_name);
  /// As load(), of functions that are there already.
  static expected<cuda_driver> of(const driver_functions& functions, const std::string& name);

  [[nodiscard]] const driver_functions& functions() const noexcept { return functions_; }
  /// The newest CUDA that the driver runs: "13.0".
  [[nodiscard]] std::string version_text() const;
  [[nodiscard]] const std::vector<cuda_device_info>& devices() const noexcept { return devices_; }

  /// A failure of `function` as a value, with the driver's words for `result`.
  [[nodiscard]] error describe(cuda_result result, const char* function, std::string where) const;

 private:
  cuda_driver(const driver_functions& functions, std::string name) : functions_(functions), name_(std::move(name)) {}
  expected<void> read_devices();

  driver_functions functions_;
  std::string name_;
  int version_ = 0;
  std::vector<cuda_device_info> devices_;
};

/// The version of a CUDA library as its numbers have it: 13000 is "13.0".
std::string cuda_version_text(int version);

/// The version of the CUDA runtime library that this process can load, "13.0". Needs no driver. E0901 where it is
/// missing.
expected<std::string> cuda_runtime_version(const std::string& name = "libcudart.so.13");

}  // namespace troupe
