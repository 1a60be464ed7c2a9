#pragma once

#include <exception>
#include <string>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/os/start_thread.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Runs `make` on a thread that ends with it: what runs kernels keeps a team of OpenMP threads, and libgomp lets no
/// team spin while it counts more threads than cores. An exception becomes E0601: "`what`: `failure`: ...".
template <class Make>
auto in_own_thread(const std::string& what, const std::string& failure, const Make& make) -> decltype(make()) {
  decltype(make()) made = fail(error_code::internal, what, failure);
  auto maker = TROUPE_TRY(start_thread(what, [&] {
    try {
      made = make();
    } catch (...) {
      made = fail(error_code::internal, what, failure + ": " + current_exception_text(), "report this with the model");
    }
  }));
  maker.join();
  return made;
}

}  // namespace troupe
