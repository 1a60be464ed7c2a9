#include "testing/late_torch/late_cache.hpp"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "testing/late_torch/late_guard.hpp"
#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

namespace rules = c10::CachingAllocator;
using memory_source = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;

/// As a float: a NaN.
constexpr int freed_byte = 0xFF;
constexpr std::size_t aggregate = 0;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t bytes_of_segment(std::size_t asked) {
  if (asked <= rules::kSmallSize) return rules::kSmallBuffer;
  if (asked < rules::kMinLargeAlloc) return rules::AcceleratorAllocatorConfig::large_segment_size();
  return rounded(asked, rules::kRoundLarge);
}

struct segment {
  struct block {
    std::size_t bytes;
    bool is_free;
  };
  std::shared_ptr<std::byte> memory;
  std::int64_t stream;
  bool is_small;
  std::map<std::byte*, block> blocks;

  [[nodiscard]] bool is_free() const { return blocks.size() == 1 && blocks.begin()->second.is_free; }
  void take(std::byte* at, std::size_t bytes) {
    block& taken = blocks.at(at);
    const std::size_t rest = taken.bytes - bytes;
    if (is_small ? rest >= rules::kMinBlockSize : rest > rules::kSmallSize) {
      taken.bytes = bytes;
      blocks[at + bytes] = {rest, true};
    }
    taken.is_free = false;
  }
  /// The bytes that `at` had.
  std::size_t put_back(std::byte* at) {
    auto freed = blocks.find(at);
    const std::size_t bytes = freed->second.bytes;
    freed->second.is_free = true;
    const auto behind = std::next(freed);
    if (behind != blocks.end() && behind->second.is_free) {
      freed->second.bytes += behind->second.bytes;
      blocks.erase(behind);
    }
    if (freed == blocks.begin() || !std::prev(freed)->second.is_free) return bytes;
    std::prev(freed)->second.bytes += freed->second.bytes;
    blocks.erase(freed);
    return bytes;
  }
};

class cache final : public c10::DeviceAllocator {
 public:
  explicit cache(memory_source source) : source_(std::move(source)) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Stream current = current_stream();
    if (bytes == 0) return {nullptr, current.device()};
    const std::size_t size = rounded(bytes, rules::kMinBlockSize);
    const std::scoped_lock lock(guard_);
    auto [in, at] = smallest_free(current.id(), size);
    if (in == nullptr) std::tie(in, at) = new_segment(current.id(), size);
    in->take(at, size);
    stats_.allocated_bytes[aggregate].increase(in->blocks.at(at).bytes);
    owners_[at] = in;
    return {at, at, &cache::free_one, current.device()};
  }
  void copy_data(void* into, const void* from, std::size_t bytes) const override { std::memcpy(into, from, bytes); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {
    for (const std::int64_t stream : streams_in_use()) streams().synchronize(streams().now(stream));
    const std::scoped_lock lock(guard_);
    segments_.remove_if([](const segment& each) { return each.is_free(); });
  }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const std::scoped_lock lock(guard_);
    return stats_;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {
    const std::scoped_lock lock(guard_);
    stats_.allocated_bytes[aggregate].reset_peak();
  }

 private:
  using place = std::pair<segment*, std::byte*>;

  place smallest_free(std::int64_t stream, std::size_t size) {
    place best{nullptr, nullptr};
    std::pair<std::size_t, std::byte*> least{SIZE_MAX, nullptr};
    for (segment& each : segments_) {
      if (each.stream != stream || each.is_small != (size <= rules::kSmallSize)) continue;
      for (const auto& [at, found] : each.blocks) {
        if (!found.is_free || found.bytes < size || std::pair(found.bytes, at) >= least) continue;
        least = {found.bytes, at};
        best = {&each, at};
      }
    }
    return best;
  }
  place new_segment(std::int64_t stream, std::size_t size) {
    const std::size_t bytes = bytes_of_segment(size);
    segment& made = segments_.emplace_back(segment{source_(bytes), stream, size <= rules::kSmallSize, {}});
    std::memset(made.memory.get(), freed_byte, bytes);
    made.blocks[made.memory.get()] = {bytes, true};
    return {&made, made.memory.get()};
  }
  std::set<std::int64_t> streams_in_use() {
    const std::scoped_lock lock(guard_);
    std::set<std::int64_t> made;
    for (const segment& each : segments_) made.insert(each.stream);
    return made;
  }
  // What the stream is given next may use the place again. No lock while the stream has its own.
  static void free_one(void* context) {
    auto& self = static_cast<cache&>(*used_cache());
    auto* const at = static_cast<std::byte*>(context);
    std::unique_lock lock(self.guard_);
    segment& in = *self.owners_.at(at);
    const std::size_t bytes = in.blocks.at(at).bytes;
    lock.unlock();
    streams().give(in.stream, [at, bytes] { std::memset(at, freed_byte, bytes); });
    lock.lock();
    self.owners_.erase(at);
    self.stats_.allocated_bytes[aggregate].decrease(in.put_back(at));
  }

  const memory_source source_;
  std::mutex guard_;
  std::list<segment> segments_;
  std::map<std::byte*, segment*> owners_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

/// Never destroyed: tensors of other static objects come back to it.
cache* the_cache = nullptr;

}  // namespace

void use_cache(memory_source source) {
  the_cache = new cache(std::move(source));
  c10::SetAllocator(c10::DeviceType::PrivateUse1, the_cache);
}

c10::Allocator* used_cache() {
  return the_cache;
}

}  // namespace troupe::late
