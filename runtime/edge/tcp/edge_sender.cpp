#include "runtime/edge/tcp/edge_sender.hpp"

#include <new>

#include "runtime/edge/tcp/edge_errors.hpp"

namespace troupe {
namespace {

std::optional<std::uint64_t> size_of(const payload_codec& codec, const payload_ptr& value) {
  return value ? std::optional<std::uint64_t>(codec.size_of(*value)) : std::nullopt;
}

void write_rows(const row_set& rows, std::span<std::byte> into) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (unsigned byte = 0; byte < 4; ++byte) into[i * 4 + byte] = static_cast<std::byte>(rows[i] >> (24u - 8u * byte));
  }
}

}  // namespace

bool edge_sender::leaving() const {
  return link_->closed.load(std::memory_order_acquire) && !finished();
}

// `exhausted` is read first: what it says about flushes and messages is then true of all that follow.
expected<bool> edge_sender::next(outgoing_frame& out) {
  sending_ = {};
  if (close_sent_) return false;
  const bool closed = link_->closed.load(std::memory_order_acquire);
  const bool exhausted = link_->queue->exhausted();
  const auto ended = link_->queue->flushed_through();
  if (ended && (!flushed_ || *ended > *flushed_)) {
    flushed_ = ended;
    out.begin(flush_frame{*ended});
    return true;
  }
  if (auto message = link_->queue->try_receive()) {
    ++taken_;
    sending_ = std::move(*message);
    return begin(out).map([] { return true; });
  }
  if (!exhausted && !(closed && peer_closed_)) return false;
  close_sent_ = true;
  out.begin(close_frame{link_->sent.load(std::memory_order_acquire)});
  drop_rest();
  return true;
}

// What the end sent while the queue was closed for it lies in the queue still. The end itself is closed by now: its
// bell is not rung.
void edge_sender::drop_rest() {
  if (close_sent_ && peer_closed_) link_->queue.reset();
}

expected<void> edge_sender::begin(outgoing_frame& out) {
  activation_frame head{sending_.id, sending_.samples, link_->key.epoch, {}, {}, {}, payload_crc_};
  if (sending_.rows) head.rows = sending_.rows->size();
  head.tensor_bytes = size_of(codec_, sending_.tensors);
  head.label_bytes = size_of(codec_, sending_.labels);
  const std::uint64_t tensor_bytes = head.tensor_bytes.value_or(0);
  const std::uint64_t label_bytes = head.label_bytes.value_or(0);
  constexpr std::uint64_t most = limits::frame_payload_bytes_max;
  if (tensor_bytes > most || label_bytes > most || head.rows.value_or(0) > limits::micro_batch_max ||
      layout_of(head).bytes > most) {
    return fail(error_code::wire_too_large, to_string(sending_.id),
                "its tensors have " + std::to_string(tensor_bytes) + " bytes, its labels " +
                    std::to_string(label_bytes) + ", together at most " + std::to_string(most),
                "Use smaller micro-batches");
  }
  out.begin(head);
  try {
    gather(out.body());
  } catch (const std::bad_alloc&) {
    return fail(error_code::wire_too_large, to_string(sending_.id),
                "no memory to lay out " + std::to_string(tensor_bytes + label_bytes) + " bytes",
                "Use smaller micro-batches");
  }
  return {};
}

void edge_sender::gather(gathered_bytes& body) const {
  if (sending_.tensors) codec_.gather(*sending_.tensors, body);
  body.pad_to(limits::payload_alignment);
  if (sending_.labels) codec_.gather(*sending_.labels, body);
  body.pad_to(limits::payload_alignment);
  if (sending_.rows) write_rows(*sending_.rows, body.own(sending_.rows->size() * sizeof(std::uint32_t)));
}

expected<void> edge_sender::on_frame(connection&, const frame& head, std::span<const std::byte>,
                                     std::shared_ptr<aligned_buffer>) {
  if (std::holds_alternative<ping_frame>(head)) return {};
  if (peer_closed_) return unexpected_frame("a frame after close");
  if (const auto* credit = std::get_if<credit_frame>(&head)) return on_credit(*credit);
  if (!std::holds_alternative<close_frame>(head)) return unexpected_frame("a frame that only a producer sends");
  on_close();
  return {};
}

// Only what was sent can come back: anything else would grant slots that are in use.
expected<void> edge_sender::on_credit(const credit_frame& credit) {
  if (credit.released < released_ || credit.released > taken_) {
    return unexpected_frame("credit for " + std::to_string(credit.released) + " activations, of " +
                            std::to_string(taken_) + " sent");
  }
  const std::uint64_t before = std::exchange(released_, credit.released);
  link_->with_end([&] {
    for (std::uint64_t i = before; i < credit.released; ++i) link_->queue->release();
  });
  return {};
}

void edge_sender::on_close() {
  peer_closed_ = true;
  link_->with_end([&] { link_->queue->close(); });
  drop_rest();
}

// A consumer that has closed wants nothing more: there is nothing to lose.
void edge_sender::lost(const error& why, const std::string& peer) {
  if (!peer_closed_) link_->lose(lost_edge(link_->key, peer, why));
}

}  // namespace troupe
