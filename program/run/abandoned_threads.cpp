#include "program/run/abandoned_threads.hpp"

#include <atomic>

namespace troupe {
namespace {

std::atomic<int>& count() noexcept {
  static std::atomic<int> of_this_process{0};
  return of_this_process;
}

}  // namespace

bool has_abandoned_threads() noexcept {
  return count().load() > 0;
}

void add_abandoned_thread() noexcept {
  ++count();
}

void remove_abandoned_thread() noexcept {
  --count();
}

}  // namespace troupe
