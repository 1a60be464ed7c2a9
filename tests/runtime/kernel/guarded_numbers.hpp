#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe::testing {

/// Numbers between two pages that end the program when they are touched. The numbers lie close to the second one, or
/// to the first one.
template <class Number>
class guarded_numbers {
 public:
  guarded_numbers(std::size_t count, bool at_end) : count_(count) {
    const auto page = static_cast<std::size_t>(getpagesize());
    const std::size_t inner = std::max<std::size_t>(1, (count * sizeof(Number) + page - 1) / page) * page;
    bytes_ = inner + 2 * page;
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for guarded numbers");
    std::byte* first = static_cast<std::byte*>(memory_) + page;
    if (mprotect(first, inner, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("no guarded numbers");
    data_ = static_cast<Number*>(static_cast<void*>(at_end ? first + inner - count * sizeof(Number) : first));
  }
  guarded_numbers(const guarded_numbers&) = delete;
  guarded_numbers& operator=(const guarded_numbers&) = delete;
  ~guarded_numbers() { munmap(memory_, bytes_); }

  Number* data() const { return data_; }
  std::span<Number> all() const { return {data_, count_}; }

 private:
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
  Number* data_ = nullptr;
};

}  // namespace troupe::testing
