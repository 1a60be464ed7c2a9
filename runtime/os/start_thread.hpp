#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <troupe/error.hpp>

namespace troupe {

/// E0614: the system gave no thread for `where`, for the reason that std::thread threw.
[[nodiscard]] tl::unexpected<error> no_thread(const std::string& where, const std::system_error& thrown);

/// A thread that runs `work`, or E0614 if the system gives none. Every thread of the product that is not CAF's or
/// LibTorch's starts here.
template <class Work>
[[nodiscard]] expected<std::thread> start_thread(const std::string& where, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& thrown) {
    return no_thread(where, thrown);
  }
}

}  // namespace troupe
