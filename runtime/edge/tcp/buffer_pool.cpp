#include "runtime/edge/tcp/buffer_pool.hpp"

#include <array>
#include <bit>
#include <new>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {

void aligned_buffer::release::operator()(std::byte* data) const noexcept {
  ::operator delete (data, std::align_val_t{limits::payload_alignment});
}

bool aligned_buffer::reserve(std::uint64_t bytes) noexcept {
  if (bytes <= capacity_) return true;
  data_.reset();
  capacity_ = 0;
  void* memory = ::operator new (bytes, std::align_val_t{limits::payload_alignment}, std::nothrow);
  if (memory == nullptr) return false;
  data_.reset(static_cast<std::byte*>(memory));
  capacity_ = bytes;
  return true;
}

/// What a buffer's handles count with lies beside the buffer, so that a warm one needs no allocation at all.
struct buffer_pool::pooled {
  aligned_buffer buffer;
  std::shared_ptr<shelf> home;
  alignas(std::max_align_t) std::array<std::byte, 96> control{};
};

struct buffer_pool::shelf {
  explicit shelf(std::size_t most) : kept_max(most) { kept.reserve(most); }

  std::unique_ptr<pooled> get() {
    const std::scoped_lock lock(guard);
    if (kept.empty()) {
      ++made;
      return std::make_unique<pooled>();
    }
    auto found = std::move(kept.back());
    kept.pop_back();
    return found;
  }
  void put(std::unique_ptr<pooled> back) noexcept {
    const std::scoped_lock lock(guard);
    if (kept.size() < kept_max) kept.push_back(std::move(back));
  }

  const std::size_t kept_max;
  mutable std::mutex guard;
  std::vector<std::unique_ptr<pooled>> kept;
  std::uint64_t made = 0;
};

/// Gives a handle's control block the place in the buffer. The block is freed last of all, so that is when the buffer
/// goes back.
template <class T>
struct buffer_pool::inside {
  using value_type = T;
  explicit inside(pooled* from) noexcept : owner(from) {}
  template <class U>
  explicit(false) inside(const inside<U>& other) noexcept : owner(other.owner) {}

  T* allocate(std::size_t count) noexcept {
    static_assert(sizeof(T) <= sizeof(pooled::control) && alignof(T) <= alignof(std::max_align_t));
    TROUPE_CHECK(count == 1, "a handle has one control block");
    return reinterpret_cast<T*>(owner->control.data());
  }
  void deallocate(T*, std::size_t) noexcept {
    const auto home = std::move(owner->home);
    home->put(std::unique_ptr<pooled>(owner));
  }
  template <class U>
  bool operator==(const inside<U>& other) const noexcept {
    return owner == other.owner;
  }

  pooled* owner;
};

buffer_pool::buffer_pool(std::size_t kept_max) : shelf_(std::make_shared<shelf>(kept_max)) {}

std::shared_ptr<aligned_buffer> buffer_pool::take(std::uint64_t bytes) {
  std::unique_ptr<pooled> found = shelf_->get();
  if (!found->buffer.reserve(bytes)) return nullptr;
  found->home = shelf_;
  pooled* const owned = found.release();
  return {&owned->buffer, [](aligned_buffer*) noexcept {}, inside<aligned_buffer>(owned)};
}

std::uint64_t buffer_pool::made() const {
  const std::scoped_lock lock(shelf_->guard);
  return shelf_->made;
}

}  // namespace troupe
