#include "runtime/edge/cuda_ipc/lent_memory.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "messages/check.hpp"

namespace troupe::ipc {

// A known allocation cannot have been freed, so what begins at its base is the same.
lent_memory::allocation* lent_memory::find(const located& part) {
  const auto known = std::ranges::find(allocations_, part.base, &allocation::base);
  const bool is_one_more = known == allocations_.end();
  const bool is_one_more_full = part.fills_it && (is_one_more || !known->is_full);
  if (is_one_more && allocations_.size() == limits::ipc_lent_allocations_max) return nullptr;
  if (is_one_more_full &&
      std::ranges::count(allocations_, true, &allocation::is_full) == limits::ipc_full_allocations_max) {
    return nullptr;
  }
  if (!is_one_more) {
    known->is_full |= part.fills_it;
    return &*known;
  }
  const auto handle = tools_->sharing->share(part.base);
  return handle ? &allocations_.emplace_back(allocation{part.base, *handle, part.fills_it, nullptr}) : nullptr;
}

std::optional<std::vector<lent_memory::located>> lent_memory::locate(const device_parts& parts) const {
  std::vector<located> made;
  std::map<const std::byte*, std::pair<std::uint64_t, std::uint64_t>> taken_of;
  for (std::size_t each = 0; each < parts.places.size(); ++each) {
    const auto in = tools_->sharing->allocation_of(parts.places[each]);
    const auto room = nccl::room_of({&parts.extents[each], 1});
    if (!in || !room) return std::nullopt;
    const auto offset = static_cast<std::uint64_t>(parts.places[each] - in->base);
    if (offset % limits::payload_alignment != 0 || *room > in->bytes - offset) return std::nullopt;
    auto& [taken, all] = taken_of[in->base];
    taken += *room;
    all = in->bytes;
    made.push_back({in->base, offset, false});
  }
  for (located& each : made) {
    const auto& [taken, all] = taken_of[each.base];
    each.fills_it = taken > all / 2;
  }
  return made;
}

std::optional<std::vector<spot>> lent_memory::lend(std::uint32_t slot, const device_parts& parts) {
  TROUPE_CHECK(parts.owners.size() == parts.places.size(), "each part has its owner");
  const auto all = locate(parts);
  if (!all || all->empty()) return std::nullopt;
  std::vector<spot> made;
  for (const located& each : *all) {
    const allocation* const in = find(each);
    if (in == nullptr) break;
    made.push_back({in->handle, each.offset});
  }
  if (made.size() < all->size()) {
    std::erase_if(allocations_, [](const allocation& each) { return each.newest == nullptr; });
    return std::nullopt;
  }
  for (std::size_t each = 0; each < all->size(); ++each) find((*all)[each])->newest = parts.owners[each];
  on_their_way_[slot] = parts.owner;
  return made;
}

}  // namespace troupe::ipc
