#include "runtime/edge/nccl/nccl_sender.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/edge/nccl/announcement.hpp"

namespace troupe::nccl {

end_half::state sender::step(std::chrono::steady_clock::time_point now) {
  if (is_abandoned()) return give_up();
  if (has_greeted_ && consumer_has_closed()) return leave(now);
  auto moved = mine_.losses->is_full() ? tl::make_unexpected(mine_.losses->get()) : advance(now);
  if (!moved) return lose(moved.error());
  if (*moved) return state::moved;
  // The announcing edge rings no bell of an end that has closed.
  return has_closed_ || !lane_->is_open() || !lane_->is_idle() ? state::waiting : state::quiet;
}

// The consumer closes when it has received all, or wants no more. It hears of this end's close in any case.
end_half::state sender::leave(std::chrono::steady_clock::time_point now) {
  if (lane_) {
    mine_.shared->with_end([&] { mine_.queue->close(); });
    const bool is_healthy = lane_->poll(now).has_value();
    retire(is_healthy);
    return state::moved;
  }
  return is_closed() ? state::over : state::quiet;
}

bool sender::consumer_has_closed() const {
  return mine_.announcing->credits() == mine_.announcing->slots();
}

expected<bool> sender::advance(std::chrono::steady_clock::time_point now) {
  if (!has_greeted_) return greet(now).map([] { return true; });
  auto moved = lane_->poll(now);
  if (!moved) return moved;
  if (give_credit()) moved = true;
  while (!has_closed_) {
    auto more = next();
    if (!more) return more;
    if (!*more) break;
    moved = true;
  }
  return moved;
}

expected<void> sender::greet(std::chrono::steady_clock::time_point now) {
  unique_id id{};
  const functions& library = mine_.tools->library;
  if (const result made = library.get_unique_id(&id); made != result::success)
    return tl::make_unexpected(failed(library, "the making of its unique id", made));
  lane_ = TROUPE_TRY(lane::begin(mine_.tools, id, rank::producer, now));
  activation first{.id = {}, .samples = {}, .tensors = std::make_shared<const hello>(id), .labels = nullptr};
  // Else the announcing edge is lost or closed, and the next step finds it.
  static_cast<void>(mine_.announcing->try_send(first));
  has_greeted_ = true;
  return {};
}

// `exhausted` is read first: if it is true, no flush or message follows those that the queue shows after it.
expected<bool> sender::next() {
  const bool exhausted = mine_.queue->exhausted();
  const auto ended = mine_.queue->flushed_through();
  if (ended && (!flushed_ || *ended > *flushed_)) {
    flushed_ = ended;
    mine_.announcing->send_flush(*ended);
    return true;
  }
  if (!exhausted && lane_->is_open() && mine_.announcing->has_credit()) {
    if (auto message = mine_.queue->try_receive()) return announce(std::move(*message)).map([] { return true; });
  }
  if (!exhausted) return false;
  has_closed_ = true;
  mine_.announcing->close();
  return true;
}

expected<void> sender::announce(activation message) {
  const std::string name = to_string(message.id);
  try {
    device_parts sent;
    if (message.tensors) {
      sent = mine_.tools->codec->split(message.tensors);
      TROUPE_TRY(room_of(sent.extents));
      message.tensors = std::make_shared<const announcement>(sends_, std::move(sent.description), sent.extents);
    }
    if (mine_.announcing->try_send(message) != send_status::sent) return {};  // closed since: the next step finds it
    ++announced_;
    if (!sent.owner) return {};
    ++sends_;
    lane_->send(sent.extents, sent.places, std::move(sent.owner), name);
  } catch (const std::exception& thrown) {
    return fail(error_code::wire_too_large, "nccl edge", name + ": " + exception_text(thrown));
  }
  return {};
}

// An announcement that is released before its send has passed here had better wait: the slot is in use.
bool sender::give_credit() {
  const std::uint64_t in_use = mine_.announcing->slots() - mine_.announcing->credits();
  const std::uint64_t freed = announced_ + 1 - std::min(announced_ + 1, in_use);
  const std::uint64_t passed = announced_ - (sends_ - lane_->done());
  const std::uint64_t now = std::min(freed, passed);
  if (now <= released_) return false;
  mine_.shared->with_end([&] {
    for (; released_ < now; ++released_) mine_.queue->release();
  });
  released_ = now;
  return true;
}

}  // namespace troupe::nccl
