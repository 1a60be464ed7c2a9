#include "tests/messages/allocation_watch.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

troupe::testing::allocation_counts counts;

void* counted(std::size_t size) {
  counts.largest_bytes = std::max(counts.largest_bytes, size);
  counts.total_bytes += size;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}

namespace troupe::testing {

allocation_counts take_allocation_counts() noexcept {
  return std::exchange(counts, {});
}

}  // namespace troupe::testing
