#pragma once

#include <string>

#include "messages/try.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A shared library that is loaded at run time, so that the program starts where it is missing.
///
/// It stays loaded until the process ends, since threads of such libraries run on.
class shared_library {
 public:
  /// `name` is a path, or a name that the loader searches for. Error E0901 has the loader's words.
  static expected<shared_library> open(const std::string& name);

  /// Sets `into` to the function `symbol`. The caller's function type is not checked: the library keeps no types.
  template <class Function>
  [[nodiscard]] expected<void> find(const char* symbol, Function*& into) const {
    void* const address = TROUPE_TRY(find_address(symbol));
    into = reinterpret_cast<Function*>(address);
    return {};
  }
  /// As find(), but null where the library is older than the function.
  template <class Function>
  void find_optional(const char* symbol, Function*& into) const noexcept {
    into = reinterpret_cast<Function*>(address_or_null(symbol));
  }

  /// As it was given to open().
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  shared_library(std::string name, void* handle) : name_(std::move(name)), handle_(handle) {}
  [[nodiscard]] expected<void*> find_address(const char* symbol) const;
  [[nodiscard]] void* address_or_null(const char* symbol) const noexcept;

  std::string name_;
  void* handle_;
};

}  // namespace troupe
