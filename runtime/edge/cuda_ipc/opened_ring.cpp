#include "runtime/edge/cuda_ipc/opened_ring.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe::ipc {
namespace {

tl::unexpected<error> nonsense(std::string cause) {
  return fail(error_code::wire_malformed, "cuda_ipc edge", std::move(cause),
              "Check the peer: it is damaged, or another version of Troupe");
}

}  // namespace

// The old block goes when its last payload does: the producer frees it after that.
expected<void> opened_ring::open_block(const place& where) {
  if (where.block == number_) return {};
  auto opened = tools_->sharing->open_memory(where.memory);
  if (!opened) return tl::make_unexpected(std::move(opened).error());
  block_ = std::move(*opened);
  number_ = where.block;
  return {};
}

expected<const shared_block*> opened_ring::open_lent(const place& where) {
  const auto known = std::ranges::find(lent_, where.memory, &shared_block::handle);
  if (known != lent_.end()) return &*known;
  if (lent_.size() == limits::ipc_lent_allocations_max) {
    return nonsense("more than " + std::to_string(lent_.size()) + " allocations are lent");
  }
  return tools_->sharing->open_memory(where.memory).map([this](shared_block&& opened) -> const shared_block* {
    return &lent_.emplace_back(std::move(opened));
  });
}

expected<const shared_block*> opened_ring::open_memory(const place& where) {
  if (where.block == 0) return open_lent(where);
  return open_block(where).map([this]() -> const shared_block* { return &block_; });
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
  const auto room = nccl::room_of(said.tensors->extents);
  if (!room) return tl::make_unexpected(room.error());
  if (where.slot >= events_.size()) return nonsense("slot " + std::to_string(where.slot));
  if (where.block != 0 && where.block < number_) return nonsense("block " + std::to_string(where.block));
  if (where.offset % limits::payload_alignment != 0) return nonsense("a slot at " + std::to_string(where.offset));
  if (auto fits = tools_->codec->matches(said.tensors->description, said.tensors->extents); !fits)
    return tl::make_unexpected(std::move(fits).error());
  const auto opened = open_memory(where);
  if (!opened) return tl::make_unexpected(opened.error());
  const shared_block& in = **opened;
  if (where.offset > in.bytes || *room > in.bytes - where.offset) {
    return nonsense(std::to_string(*room) + " bytes at " + std::to_string(where.offset) + " of a block of " +
                    std::to_string(in.bytes));
  }
  auto filled = open_event(where);
  if (!filled) return tl::make_unexpected(std::move(filled).error());
  view made{.memory = in.memory, .places = {}, .filled = std::move(*filled)};
  std::byte* at = in.memory.get() + where.offset;
  for (const device_extent& each : said.tensors->extents) {
    made.places.push_back(at);
    at += *nccl::room_of({&each, 1});
  }
  return made;
}

}  // namespace troupe::ipc
