#include "runtime/edge/nccl/nccl_receiver.hpp"

#include <utility>

#include "messages/try.hpp"

namespace troupe::nccl {
namespace {

tl::unexpected<error> unannounced(std::string what) {
  return fail(error_code::wire_malformed, "nccl edge", std::move(what),
              "Check the peer: it is damaged, or another version of Troupe");
}

}  // namespace

end_half::state receiver::step(std::chrono::steady_clock::time_point now) {
  if (is_abandoned()) return give_up();
  if (is_closed()) return leave();
  auto moved = mine_.losses->is_full() ? tl::make_unexpected(mine_.losses->get()) : advance(now);
  if (!moved) return lose(moved.error());
  if (is_exhausted_) {
    mine_.announcing->close();
    retire(true);
    return state::over;
  }
  if (*moved) return state::moved;
  return lane_ && (!lane_->is_open() || !lane_->is_idle()) ? state::waiting : state::quiet;
}

// Messages on their way are dropped. While the engine's end is there it may ask whether all has come; no bell rings for
// that any more, and a look now and then will do.
end_half::state receiver::leave() {
  if (!has_closed_) {
    has_closed_ = true;
    has_dropped_ = !arriving_.empty();
    mine_.announcing->close();
    retire(!has_dropped_);
    arriving_.clear();
    return state::moved;
  }
  if (mine_.shared->detached.load(std::memory_order_acquire)) return state::over;
  if (!mine_.announcing->exhausted()) return state::quiet;
  if (!has_dropped_) mine_.queue->close();
  return state::over;
}

// `exhausted` is read first, and a flush before the messages that may have come behind it.
expected<bool> receiver::advance(std::chrono::steady_clock::time_point now) {
  bool moved = give_credit();
  if (lane_) {
    auto polled = lane_->poll(now);
    if (!polled) return polled;
    moved = moved || *polled;
  }
  for (;;) {
    const bool exhausted = mine_.announcing->exhausted();
    if (pass_flush()) moved = true;
    auto message = mine_.announcing->try_receive();
    if (!message) {
      is_exhausted_ = exhausted;
      break;
    }
    moved = true;
    TROUPE_TRY(take(std::move(*message), now));
  }
  auto queued = queue_up();
  if (!queued) return queued;
  is_exhausted_ = is_exhausted_ && arriving_.empty();
  if (is_exhausted_) mine_.shared->with_end([&] { mine_.queue->close(); });
  return moved || *queued;
}

bool receiver::pass_flush() {
  const auto ended = mine_.announcing->flushed_through();
  if (!ended || (flushed_ && *ended <= *flushed_)) return false;
  flushed_ = ended;
  if (arriving_.empty()) {
    mine_.shared->with_end([&] { mine_.queue->send_flush(*ended); });
  } else {
    arriving_.back().flushed_after = ended;
  }
  return true;
}

expected<void> receiver::take(activation message, std::chrono::steady_clock::time_point now) {
  if (lane_ == nullptr) {
    const auto* first = dynamic_cast<const hello*>(message.tensors.get());
    if (first == nullptr) return unannounced("it begins without a hello");
    lane_ = TROUPE_TRY(lane::begin(mine_.tools, first->id, rank::consumer, now));
    return {};
  }
  arrival next{.message = std::move(message), .announced = nullptr, .places = {}, .owner = nullptr};
  if (next.message.tensors) {
    next.announced = std::dynamic_pointer_cast<const announcement>(std::move(next.message.tensors));
    if (next.announced == nullptr) return unannounced(to_string(next.message.id) + " comes with its tensors");
    TROUPE_TRY(expect(next));
  }
  arriving_.push_back(std::move(next));
  return {};
}

// All is checked before memory is taken.
expected<void> receiver::expect(arrival& next) {
  const announcement& said = *next.announced;
  const std::string name = to_string(next.message.id);
  if (said.number != begun_)
    return unannounced(name + " is send " + std::to_string(said.number) + ", expected " + std::to_string(begun_));
  const auto room = TROUPE_TRY(room_of(said.extents));
  TROUPE_TRY(mine_.tools->codec->matches(said.description, said.extents));
  auto memory = TROUPE_TRY(mine_.tools->device->allocate(room));
  std::byte* at = memory.get();
  for (const device_extent& each : said.extents) {
    next.places.push_back(at);
    at += *room_of({&each, 1});
  }
  ++begun_;
  next.owner = std::move(memory);
  lane_->receive(said.extents, next.places, next.owner, name);
  return {};
}

expected<bool> receiver::queue_up() {
  bool moved = false;
  while (!arriving_.empty()) {
    arrival& oldest = arriving_.front();
    if (oldest.announced && lane_->done() == queued_) break;
    TROUPE_TRY(hand_over(oldest));
    arriving_.pop_front();
    moved = true;
  }
  return moved;
}

expected<void> receiver::hand_over(arrival& oldest) {
  if (oldest.announced) {
    ++queued_;
    oldest.message.tensors = TROUPE_TRY(mine_.tools->codec->join(
        oldest.announced->description, oldest.announced->extents, oldest.places, std::move(oldest.owner)));
  }
  send_status status = send_status::closed;
  mine_.shared->with_end([&] {
    status = mine_.queue->try_send(oldest.message);
    if (oldest.flushed_after) mine_.queue->send_flush(*oldest.flushed_after);
  });
  if (status == send_status::no_credit) return unannounced(to_string(oldest.message.id) + " comes without credit");
  return {};
}

bool receiver::give_credit() {
  const std::uint64_t released = mine_.shared->released.load(std::memory_order_acquire);
  const bool moved = told_ < released;
  for (; told_ < released; ++told_) mine_.announcing->release();
  return moved;
}

}  // namespace troupe::nccl
