#include "runtime/edge/cuda_ipc/opened_ring.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "messages/try.hpp"

namespace troupe::ipc {
namespace {

tl::unexpected<error> nonsense(std::string cause) {
  return fail(error_code::wire_malformed, "cuda_ipc edge", std::move(cause),
              "Check the peer: it is damaged, or another version of Troupe");
}

/// `extents`, one behind the other from there on; together they are within limits::nccl_message_bytes_max.
expected<void> view_at(const shared_block& in, std::uint64_t offset, std::span<const device_extent> extents,
                       opened_ring::view& into) {
  const std::uint64_t room = *nccl::room_of(extents);
  if (offset > in.bytes || room > in.bytes - offset) {
    return nonsense(std::to_string(room) + " bytes at " + std::to_string(offset) + " of a block of " +
                    std::to_string(in.bytes));
  }
  into.memory.push_back(in.memory);
  std::byte* at = in.memory.get() + offset;
  for (const device_extent& each : extents) {
    into.places.push_back(at);
    at += *nccl::room_of({&each, 1});
  }
  return {};
}

}  // namespace

// The old block goes when its last payload does: the producer frees it after that.
expected<void> opened_ring::open_block(const place& where) {
  if (where.block == number_) return {};
  block_ = TROUPE_TRY(tools_->sharing->open_memory(where.spots.front().memory));
  number_ = where.block;
  return {};
}

expected<const shared_block*> opened_ring::open_lent(const spot& where) {
  const auto known = std::ranges::find(lent_, where.memory, &shared_block::handle);
  if (known != lent_.end()) return &*known;
  if (lent_.size() == limits::ipc_lent_allocations_max) {
    return nonsense("more than " + std::to_string(lent_.size()) + " allocations are lent");
  }
  return tools_->sharing->open_memory(where.memory).map([this](shared_block&& opened) -> const shared_block* {
    return &lent_.emplace_back(std::move(opened));
  });
}

expected<void> opened_ring::view_block(const announcement& said, view& into) {
  if (said.where.block < number_) return nonsense("block " + std::to_string(said.where.block));
  return open_block(said.where).and_then([&] {
    return view_at(block_, said.where.spots.front().offset, said.tensors->extents, into);
  });
}

expected<void> opened_ring::view_lent(const announcement& said, view& into) {
  const auto& extents = said.tensors->extents;
  for (std::size_t each = 0; each < extents.size(); ++each) {
    const spot& where = said.where.spots[each];
    auto seen = open_lent(where).and_then([&](const shared_block* in) {
      return view_at(*in, where.offset, {&extents[each], 1}, into);
    });
    if (!seen) return seen;
  }
  return {};
}

expected<std::shared_ptr<context_event>> opened_ring::open_event(const place& where) {
  if (where.block == 0) return nullptr;
  known_event& known = events_[where.slot];
  if (known.event != nullptr && known.handle == where.event) return known.event;
  auto opened = tools_->sharing->open_event(where.event);
  if (opened) known = {where.event, *opened};
  return opened;
}

expected<opened_ring::view> opened_ring::open(const announcement& said) {
  const place& where = said.where;
  TROUPE_TRY(nccl::room_of(said.tensors->extents));
  if (where.slot >= events_.size()) return nonsense("slot " + std::to_string(where.slot));
  for (const auto& [memory, offset] : where.spots) {
    if (offset % limits::payload_alignment != 0) return nonsense("a slot at " + std::to_string(offset));
  }
  TROUPE_TRY(tools_->codec->matches(said.tensors->description, said.tensors->extents));
  view made;
  TROUPE_TRY(where.block == 0 ? view_lent(said, made) : view_block(said, made));
  return open_event(where).map([&](std::shared_ptr<context_event>&& filled) {
    made.filled = std::move(filled);
    return std::move(made);
  });
}

}  // namespace troupe::ipc
