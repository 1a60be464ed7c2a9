#pragma once

#include <string>

#include "runtime/cuda/nccl_functions.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// NCCL, loaded at run time, or a stand-in of its shape.
///
/// Its functions are called by one thread per device. A process that never loads it needs no NCCL.
class nccl_library {
 public:
  /// The library's name as every installation has it.
  static constexpr const char* default_name = "libnccl.so.2";

  /// Loads `name`, a path or what the loader searches for. E0901 where it is missing, is no library, lacks a function
  /// or does not tell its version.
  static expected<nccl_library> load(const std::string& name = default_name);
  /// A library of functions that are there already. E0901 if one that is needed is null, or does not tell the version.
  static expected<nccl_library> of(const nccl::functions& functions, const std::string& name);

  [[nodiscard]] const nccl::functions& functions() const noexcept { return functions_; }
  /// 22809 for 2.28.9.
  [[nodiscard]] int version() const noexcept { return version_; }
  /// "2.28.9".
  [[nodiscard]] std::string version_text() const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  nccl_library(const nccl::functions& functions, std::string name, int version)
      : functions_(functions), name_(std::move(name)), version_(version) {}

  nccl::functions functions_;
  std::string name_;
  int version_;
};

}  // namespace troupe
