#include "runtime/edge/cuda_ipc/lent_memory.hpp"

#include <algorithm>

namespace troupe::ipc {

// A known allocation cannot have been freed, so what begins at its base is the same.
lent_memory::allocation* lent_memory::find(const std::byte* base) {
  const auto known = std::ranges::find(allocations_, base, &allocation::base);
  if (known != allocations_.end()) return &*known;
  if (allocations_.size() == limits::ipc_lent_allocations_max) return nullptr;
  const auto handle = tools_->sharing->share(base);
  return handle ? &allocations_.emplace_back(allocation{base, *handle, nullptr}) : nullptr;
}

std::optional<place> lent_memory::lend(std::uint32_t slot, const device_parts& parts, std::uint64_t room) {
  if (parts.places.size() != 1) return std::nullopt;
  const auto all = tools_->sharing->allocation_of(parts.places.front());
  if (!all) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(parts.places.front() - all->base);
  const bool fits = offset % limits::payload_alignment == 0 && room <= all->bytes / 2 && room <= all->bytes - offset;
  allocation* const in = fits ? find(all->base) : nullptr;
  if (in == nullptr) return std::nullopt;
  in->newest = parts.owner;
  on_their_way_[slot] = parts.owner;
  return place{
      .flushed_before = 0, .block = 0, .slot = slot, .offset = offset, .memory = in->handle, .event = sharing_handle{}};
}

}  // namespace troupe::ipc
