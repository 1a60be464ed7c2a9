#include "runtime/link/dialled_link.hpp"

#include <algorithm>

#include "messages/try.hpp"
#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/join/peer_name.hpp"

namespace troupe {

expected<std::shared_ptr<connection>> dialled_link::connect() {
  const auto made = on_.add(tls_->stream(new_tcp_socket(on_.core->executor, to_)),
                            limits_of(on_.times, limits::tcp_handshake_timeout), shared_from_this());
  say(link_frame{});
  awaits_answer_ = is_rejected_ = false;
  if (dials_++ == 0) dial_until_ = clock::now() + at_most_;
  made->dial(to_);
  return made;
}

expected<void> dialled_link::on_handshake(connection& from) {
  const auto name = TROUPE_TRY(peer_name_of(from.peer_certificate()));
  awaits_answer_ = true;
  return check_peer("peer " + from.peer(), name.node(), std::string{});
}

void dialled_link::rejected() {
  is_rejected_ = true;
  ++rejections_;
}

/// A driver with more peers than it has room for just closes: it may have room soon.
void dialled_link::lost(const error& why, const std::string& peer) {
  const bool is_from_peer = !peer.empty();
  if (is_from_peer && !has_answer_ && rejections_ < limits::link_rejections_max && clock::now() < dial_until_)
    return dial_later();
  error told = why;
  if (awaits_answer_ && is_rejected_) {
    told.code = error_code::wire_handshake;
    told.cause = "the driver refused: " + why.cause;
  }
  if (!peer.empty() && told.where.empty()) told.cause = "peer " + peer + ": " + told.cause;
  link_end::lost(told, peer);
}

/// The timer holds the link, as its connection did.
void dialled_link::dial_later() {
  const std::chrono::milliseconds pause = std::min(limits::link_dial_pause * dials_, limits::join_retry_max);
  const auto timer = std::make_shared<asio::steady_timer>(on_.core->executor, pause);
  timer->async_wait([timer, self = shared_from_this()](std::error_code) {
    if (!self->is_lost()) self->open();
  });
}

expected<bool> dialled_link::greet(connection& from, const frame& head) {
  if (std::holds_alternative<ping_frame>(head)) return false;  // it takes its time
  const auto* answer = std::get_if<link_frame>(&head);
  if (answer == nullptr || !answer->silence_ms) return refuse_peer("peer " + from.peer(), "no answer to a link");
  talk();
  awaits_answer_ = false;
  has_answer_ = true;
  from.assume(shared_from_this(),
              limits_of({std::chrono::milliseconds(*answer->silence_ms)}, limits::tcp_handshake_timeout));
  return false;
}

}  // namespace troupe
