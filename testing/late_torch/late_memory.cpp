#include "testing/late_torch/late_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "testing/late_torch/late_cache.hpp"
#include "testing/late_torch/late_guard.hpp"
#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

constexpr std::size_t alignment = 64;
/// As float and as double: a NaN.
constexpr int poison = 0xFF;

std::size_t rounded(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void* poisoned(std::size_t bytes) {
  void* made = std::aligned_alloc(alignment, rounded(bytes));
  if (made == nullptr) throw std::bad_alloc();
  return std::memset(made, poison, bytes);
}

struct block {
  block(std::size_t size, std::int64_t of) : data(poisoned(size)), bytes(size), stream(of) {}
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  ~block() { std::free(data); }

  void* const data;
  const std::size_t bytes;
  const std::int64_t stream;
};

std::atomic<std::int64_t> in_use{0};

void free_block(void* context) {
  const std::shared_ptr<const block> one(static_cast<const block*>(context));
  in_use -= static_cast<std::int64_t>(one->bytes);
  streams().give(one->stream, [one] { std::memset(one->data, poison, one->bytes); });
}

class device_allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Stream current = current_stream();
    if (bytes == 0) return {nullptr, current.device()};
    auto* one = new block(bytes, current.id());
    in_use += static_cast<std::int64_t>(bytes);
    return {one->data, one, &free_block, current.device()};
  }
  void copy_data(void* into, const void* from, std::size_t bytes) const override { std::memcpy(into, from, bytes); }
};

std::mutex pinned_guard;
std::map<const void*, std::size_t> pinned;

void free_pinned(void* data) {
  const std::scoped_lock lock(pinned_guard);
  pinned.erase(data);
  std::free(data);
}

class pinned_allocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    void* data = poisoned(bytes == 0 ? 1 : bytes);
    const std::scoped_lock lock(pinned_guard);
    pinned[data] = bytes;
    return {data, data, &free_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* into, const void* from, std::size_t bytes) const override { std::memcpy(into, from, bytes); }
};

}  // namespace

c10::Allocator& device_memory() {
  static device_allocator one;
  c10::Allocator* const cache = used_cache();
  return cache == nullptr ? one : *cache;
}

c10::Allocator& pinned_memory() {
  static pinned_allocator one;
  return one;
}

bool is_pinned(const void* place) {
  const std::scoped_lock lock(pinned_guard);
  auto behind = pinned.upper_bound(place);
  if (behind == pinned.begin()) return false;
  --behind;
  return static_cast<const char*>(place) < static_cast<const char*>(behind->first) + behind->second;
}

std::int64_t bytes_in_use() {
  return in_use;
}

}  // namespace troupe::late
