#include "runtime/edge/cuda_ipc/lent_memory.hpp"

#include <algorithm>
#include <map>

#include "messages/check.hpp"

namespace troupe::ipc {

// A known allocation cannot have been freed, so what begins at its base is the same.
lent_memory::allocation* lent_memory::find(const std::byte* base) {
  const auto known = std::ranges::find(allocations_, base, &allocation::base);
  if (known != allocations_.end()) return &*known;
  if (allocations_.size() == limits::ipc_lent_allocations_max) return nullptr;
  const auto handle = tools_->sharing->share(base);
  return handle ? &allocations_.emplace_back(allocation{base, *handle, nullptr}) : nullptr;
}

std::optional<std::vector<lent_memory::located>> lent_memory::locate(const device_parts& parts) const {
  std::vector<located> made;
  std::map<const std::byte*, std::uint64_t> taken;
  for (std::size_t each = 0; each < parts.places.size(); ++each) {
    const auto in = tools_->sharing->allocation_of(parts.places[each]);
    const auto room = nccl::room_of({&parts.extents[each], 1});
    if (!in || !room) return std::nullopt;
    const auto offset = static_cast<std::uint64_t>(parts.places[each] - in->base);
    if (offset % limits::payload_alignment != 0 || *room > in->bytes - offset) return std::nullopt;
    if ((taken[in->base] += *room) > in->bytes / 2) return std::nullopt;
    made.push_back({in->base, offset});
  }
  return made;
}

std::optional<std::vector<spot>> lent_memory::lend(std::uint32_t slot, const device_parts& parts) {
  TROUPE_CHECK(parts.owners.size() == parts.places.size(), "each part has its owner");
  const auto all = locate(parts);
  if (!all || all->empty()) return std::nullopt;
  std::vector<spot> made;
  for (const auto& [base, offset] : *all) {
    const allocation* const in = find(base);
    if (in == nullptr) break;
    made.push_back({in->handle, offset});
  }
  if (made.size() < all->size()) {
    std::erase_if(allocations_, [](const allocation& each) { return each.newest == nullptr; });
    return std::nullopt;
  }
  for (std::size_t each = 0; each < all->size(); ++each) find((*all)[each].base)->newest = parts.owners[each];
  on_their_way_[slot] = parts.owner;
  return made;
}

}  // namespace troupe::ipc
