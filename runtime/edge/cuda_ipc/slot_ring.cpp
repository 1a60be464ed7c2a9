#include "runtime/edge/cuda_ipc/slot_ring.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include "messages/try.hpp"

namespace troupe::ipc {
namespace {

template <class Value>
Value must(expected<Value> got) {
  if (!got) throw std::runtime_error(to_string(got.error()));
  if constexpr (!std::is_void_v<Value>) return std::move(*got);
}

using two_sources = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;

/// An eighth of the next power of two: messages of about one size find room in one block, which wastes a quarter at
/// most.
std::uint64_t slot_bytes_for(std::uint64_t room) {
  const std::uint64_t step = std::max<std::uint64_t>(std::bit_ceil(room) / 8, limits::payload_alignment);
  return std::max(step, (room + step - 1) / step * step);
}

}  // namespace

expected<std::shared_ptr<slot_ring>> slot_ring::make(std::shared_ptr<const ipc_tools> tools, std::uint32_t slots) {
  auto stream = TROUPE_TRY(tools->device->make_stream());
  return std::shared_ptr<slot_ring>(new slot_ring(std::move(tools), std::move(stream), slots));
}

bool slot_ring::is_in_use(const block& old) const noexcept {
  return std::ranges::any_of(slots_, [&](const slot_state& each) { return each.block == old.number; });
}

void slot_ring::came_back(std::uint32_t slot) noexcept {
  lent_.came_back(slot);
  known_ = std::max(known_, std::exchange(slots_[slot].block, 0));
  std::erase_if(blocks_, [this](const block& each) { return each.number < known_ && !is_in_use(each); });
}

void slot_ring::grow(std::uint64_t room) {
  const std::uint64_t each = slot_bytes_for(room);
  if (each > limits::ipc_ring_bytes_max / slots_.size()) {
    throw std::runtime_error(std::to_string(slots_.size()) + " slots for messages of " + std::to_string(room) +
                             " bytes are more than the " + std::to_string(limits::ipc_ring_bytes_max) +
                             " bytes of an edge over cuda_ipc");
  }
  auto memory = must(tools_->sharing->allocate(each * slots_.size()));
  // The memory beyond the slots is used by them, too.
  const std::uint64_t share = memory.bytes / slots_.size() / limits::payload_alignment * limits::payload_alignment;
  blocks_.push_back({++numbers_, share, std::move(memory)});
}

place slot_ring::fill(std::uint32_t slot, const device_parts& parts, std::uint64_t room) {
  auto lent = lent_.lend(slot, parts);
  if (!lent) return copy(slot, parts, room);
  return {.slot = slot, .spots = std::move(*lent)};
}

place slot_ring::copy(std::uint32_t slot, const device_parts& parts, std::uint64_t room) {
  if (blocks_.empty() || room > blocks_.back().slot_bytes) grow(room);
  const block& in = blocks_.back();
  auto& [filled, source, unused] = slots_[slot];
  if (!filled) filled = must(tools_->sharing->make_event());
  // A damaged consumer may give a slot back before it is filled: the source of the copy stays all the same.
  if (source != nullptr && filled->has_passed().value_or(true)) source.reset();
  source = source == nullptr ? parts.owner : std::make_shared<const two_sources>(source, parts.owner);
  const std::uint64_t offset = slot * in.slot_bytes;
  std::byte* at = in.memory.memory.get() + offset;
  for (std::size_t each = 0; each < parts.extents.size(); ++each) {
    const device_extent& extent = parts.extents[each];
    must(stream_->copy(at, parts.places[each], extent.count * bytes_of(extent.type)));
    at += *nccl::room_of({&extent, 1});
  }
  must(filled->record_on(*stream_));
  return {.block = in.number, .slot = slot, .event = filled->handle(), .spots = {{in.memory.handle, offset}}};
}

// A device that has failed copies nothing any more.
void slot_ring::drop_copied() noexcept {
  for (slot_state& each : slots_) {
    if (each.source != nullptr && each.filled->has_passed().value_or(true)) each.source.reset();
  }
}

bool slot_ring::is_quiet() const noexcept {
  return std::ranges::all_of(slots_, [](const slot_state& each) {
    return each.source == nullptr || each.filled->has_passed().value_or(true);
  });
}

std::uint64_t slot_ring::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const block& each : blocks_) sum += each.memory.bytes;
  return sum;
}

}  // namespace troupe::ipc
