#include "runtime/edge/tcp/edge_receiver.hpp"

#include <utility>

#include "messages/try.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"

namespace troupe {
namespace {

/// Only now, with all bytes there, is something allocated that grows with their number.
expected<row_set_ptr> read_rows(std::span<const std::byte> from, std::uint64_t samples) {
  auto rows = std::make_shared<row_set>();
  rows->reserve(from.size() / sizeof(std::uint32_t));
  for (; !from.empty(); from = from.subspan(4)) {
    std::uint32_t row = 0;
    for (const std::byte b : from.first(4)) row = row << 8u | std::to_integer<std::uint32_t>(b);
    if (row >= samples || (!rows->empty() && row <= rows->back())) {
      return unexpected_frame("row " + std::to_string(row) + " of " + std::to_string(samples) +
                              " samples, or rows that do not ascend");
    }
    rows->push_back(row);
  }
  return rows;
}

}  // namespace

bool edge_receiver::leaving() const {
  return link_->closed.load(std::memory_order_acquire) && !finished();
}

expected<bool> edge_receiver::next(outgoing_frame& out) {
  if (!std::exchange(welcomed_, true)) {
    out.begin(welcome_frame{link_->slots});
    return true;
  }
  if (close_sent_) return false;
  if (link_->closed.load(std::memory_order_acquire)) {
    close_sent_ = true;
    out.begin(close_frame{});
    return true;
  }
  const std::uint64_t released = link_->released.load(std::memory_order_acquire);
  if (released == std::exchange(told_, released)) return false;
  out.begin(credit_frame{released});
  return true;
}

void edge_receiver::on_part(std::size_t bytes) {
  if (link_->arrived_bytes) link_->arrived_bytes->fetch_add(bytes, std::memory_order_relaxed);
}

expected<void> edge_receiver::on_frame(connection&, const frame& head, std::span<const std::byte> payload,
                                       std::shared_ptr<aligned_buffer> owner) {
  if (std::holds_alternative<ping_frame>(head)) return {};
  if (peer_closed_) return unexpected_frame("a frame after close");
  if (const auto* sent = std::get_if<activation_frame>(&head)) return on_activation(*sent, payload, std::move(owner));
  if (const auto* flush = std::get_if<flush_frame>(&head)) {
    link_->with_end([&] { link_->queue->send_flush(flush->call); });
    return {};
  }
  if (const auto* close = std::get_if<close_frame>(&head)) return on_close(*close);
  return unexpected_frame("a frame that only a consumer sends");
}

expected<void> edge_receiver::on_activation(const activation_frame& head, std::span<const std::byte> payload,
                                            std::shared_ptr<aligned_buffer> owner) {
  if (head.epoch != link_->key.epoch) return unexpected_frame("an activation of epoch " + std::to_string(head.epoch));
  auto message = TROUPE_TRY(rebuild(head, payload, owner));
  owner.reset();
  return queue_up(std::move(message));
}

expected<activation> edge_receiver::rebuild(const activation_frame& head, std::span<const std::byte> payload,
                                            const std::shared_ptr<aligned_buffer>& owner) const {
  activation message{head.id, head.samples, nullptr, nullptr, nullptr};
  const payload_layout layout = layout_of(head);
  if (head.tensor_bytes) {
    message.tensors = TROUPE_TRY(codec_.read(payload.first(*head.tensor_bytes), owner));
  }
  if (head.label_bytes) {
    message.labels = TROUPE_TRY(codec_.read(payload.subspan(layout.labels_at, *head.label_bytes), owner));
  }
  if (head.rows) {
    message.rows = TROUPE_TRY(
        read_rows(payload.subspan(layout.rows_at, layout.checksum_at - layout.rows_at), head.samples.size()));
  }
  return message;
}

expected<void> edge_receiver::queue_up(activation message) {
  send_status status = send_status::closed;
  link_->with_end([&] { status = link_->queue->try_send(message); });
  if (status == send_status::no_credit) return unexpected_frame("an activation without credit");
  if (status == send_status::sent) ++queued_;
  return {};
}

// A consumer that has closed may have dropped some, and is exhausted only if there was nothing to drop.
expected<void> edge_receiver::on_close(const close_frame& close) {
  const bool is_complete = close.activations == queued_;
  if (!is_complete && !link_->closed.load(std::memory_order_acquire)) {
    return unexpected_frame("a close after " + std::to_string(close.activations) + " activations, of which " +
                            std::to_string(queued_) + " arrived");
  }
  peer_closed_ = true;
  if (is_complete) link_->with_end([&] { link_->queue->close(); });
  return {};
}

// Everything has arrived, or the consumer is closed: there is nothing to lose.
void edge_receiver::lost(const error& why, const std::string& peer) {
  if (!peer_closed_ && !link_->closed.load(std::memory_order_acquire)) link_->lose(lost_edge(link_->key, peer, why));
}

}  // namespace troupe
