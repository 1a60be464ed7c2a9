#include "runtime/os/clock.hpp"

namespace troupe {
namespace {

constinit thread_local const virtual_clock* clock_of_thread = nullptr;

}  // namespace

std::chrono::nanoseconds steady_now() {
  if (clock_of_thread != nullptr) [[unlikely]]
    return clock_of_thread->now;
  return std::chrono::steady_clock::now().time_since_epoch();
}

virtual_clock::virtual_clock(std::chrono::nanoseconds start) noexcept : now(start) {
  clock_of_thread = this;
}

virtual_clock::~virtual_clock() {
  clock_of_thread = nullptr;
}

}  // namespace troupe
