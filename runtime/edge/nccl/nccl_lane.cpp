#include "runtime/edge/nccl/nccl_lane.hpp"

#include <utility>

#include "messages/try.hpp"

namespace troupe::nccl {
namespace {

constexpr int ranks = 2;
const std::string joining = "the making of its communicator";

}  // namespace

expected<std::unique_ptr<lane>> lane::begin(const std::shared_ptr<const nccl_tools>& tools, const unique_id& id,
                                            rank which, clock::time_point now) {
  std::unique_ptr<lane> made(new lane(tools, which));
  made->stream_ = TROUPE_TRY(tools->device->make_stream());
  auto byte = TROUPE_TRY(tools->device->allocate(limits::payload_alignment));
  config how;
  how.blocking = 0;
  how.min_ctas = 1;
  how.max_ctas = limits::nccl_ctas_max;
  const result begun = tools->library.comm_init_rank_config(&made->handle_, ranks, id, static_cast<int>(which), &how);
  if (begun != result::success && begun != result::in_progress)
    return tl::make_unexpected(failed(tools->library, joining, begun));
  made->join_limit_ = now + tools->join_timeout;
  made->warm_up(std::move(byte));
  return made;
}

void lane::warm_up(std::shared_ptr<std::byte> byte) {
  const device_extent one{.count = 1, .type = element::uint8};
  std::byte* const place = byte.get();
  add(which_ == rank::producer, {{place, one}}, std::move(byte), "its warm-up");
}

void lane::send(std::span<const device_extent> extents, std::span<const std::byte* const> places,
                std::shared_ptr<const void> owner, std::string name) {
  std::vector<part> parts;
  // NCCL reads them alone.
  for (std::size_t i = 0; i < extents.size(); ++i) parts.push_back({const_cast<std::byte*>(places[i]), extents[i]});
  add(true, std::move(parts), std::move(owner), "the send of " + std::move(name));
}

void lane::receive(std::span<const device_extent> extents, std::span<std::byte* const> places,
                   std::shared_ptr<const void> owner, std::string name) {
  std::vector<part> parts;
  for (std::size_t i = 0; i < extents.size(); ++i) parts.push_back({places[i], extents[i]});
  add(false, std::move(parts), std::move(owner), "the receipt of " + std::move(name));
}

void lane::add(bool is_send, std::vector<part> parts, std::shared_ptr<const void> owner, std::string name) {
  std::erase_if(parts, [](const part& each) { return each.extent.count == 0; });
  waiting_.push_back(
      {.is_send = is_send, .parts = std::move(parts), .owner = std::move(owner), .name = std::move(name)});
}

expected<bool> lane::poll(clock::time_point now) {
  if (!is_joined_) return join(now);
  auto moved = complete(now);
  while (moved && issued_ < waiting_.size()) {
    auto more = issue(now);
    if (!more) return more;
    if (!*more) break;
    moved = true;
  }
  return moved;
}

expected<bool> lane::join(clock::time_point now) {
  auto settled = is_settled(joining);
  if (!settled) return settled;
  if (!*settled) {
    if (now >= join_limit_) return tl::make_unexpected(late(joining, tools_->join_timeout));
    return false;
  }
  is_joined_ = true;
  return true;
}

expected<bool> lane::is_settled(const std::string& name) {
  result now = result::success;
  const result asked = tools_->library.comm_get_async_error(handle_, &now);
  if (asked != result::success) now = asked;
  if (now == result::in_progress) return false;
  if (now != result::success) return tl::make_unexpected(failed(tools_->library, name, now));
  return true;
}

expected<bool> lane::issue(clock::time_point now) {
  operation& next = waiting_[issued_];
  if (!is_calling_) {
    next.limit = is_warm_ ? now + tools_->operation_timeout : join_limit_;
    const result called = next.parts.empty() ? result::success : call(next);
    if (called != result::success && called != result::in_progress)
      return tl::make_unexpected(failed(tools_->library, next.name, called));
    is_calling_ = true;
  }
  auto settled = is_settled(next.name);
  if (!settled) return settled;
  if (!*settled) {
    return in_time(next, now).map([] { return false; });
  }
  next.passed = TROUPE_TRY(stream_->record());
  is_calling_ = false;
  ++issued_;
  return true;
}

// A group, so that no part waits for another one. It is ended whatever happens within it.
result lane::call(const operation& next) {
  const functions& library = tools_->library;
  const int peer = which_ == rank::producer ? static_cast<int>(rank::consumer) : static_cast<int>(rank::producer);
  result worst = library.group_start();
  if (worst != result::success) return worst;
  for (const part& each : next.parts) {
    const auto count = static_cast<std::size_t>(each.extent.count);
    const result one = next.is_send
                           ? library.send(each.place, count, each.extent.type, peer, handle_, stream_->handle())
                           : library.recv(each.place, count, each.extent.type, peer, handle_, stream_->handle());
    if (one != result::success && one != result::in_progress) worst = one;
  }
  const result ended = library.group_end();
  return worst != result::success ? worst : ended;
}

expected<bool> lane::complete(clock::time_point now) {
  bool moved = false;
  while (issued_ > 0) {
    operation& oldest = waiting_.front();
    auto passed = oldest.passed->has_passed();
    if (!passed) return passed;
    // What has failed may pass, or never do so; hence after that look.
    TROUPE_TRY(is_settled(oldest.name));
    if (!*passed) return in_time(oldest, now).map([moved] { return moved; });
    waiting_.pop_front();
    --issued_;
    if (std::exchange(is_warm_, true)) ++done_;
    moved = true;
  }
  return moved;
}

expected<void> lane::in_time(const operation& each, clock::time_point now) const {
  if (now < *each.limit) return {};
  return tl::make_unexpected(late(each.name, is_warm_ ? tools_->operation_timeout : tools_->join_timeout));
}

retired_communicator lane::retire(bool is_clean) {
  retired_communicator gone{.handle = std::exchange(handle_, nullptr),
                            .is_clean = is_clean && is_warm_ && waiting_.empty(),
                            .stream = std::move(stream_),
                            .buffers = {}};
  for (operation& each : waiting_) gone.buffers.push_back(std::move(each.owner));
  waiting_.clear();
  return gone;
}

}  // namespace troupe::nccl
