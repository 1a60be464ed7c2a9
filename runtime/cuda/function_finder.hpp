#pragma once

#include "runtime/cuda/shared_library.hpp"

namespace troupe {

/// Finds the functions of a library one after the other and keeps the first error.
class function_finder {
 public:
  explicit function_finder(const shared_library& library) : library_(library) {}

  template <class Function>
  function_finder& operator()(const char* symbol, Function*& into) {
    if (found_) found_ = library_.find(symbol, into);
    return *this;
  }
  [[nodiscard]] const expected<void>& found() const noexcept { return found_; }

 private:
  const shared_library& library_;
  expected<void> found_;
};

}  // namespace troupe
