#pragma once

#include <memory>

#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_link.hpp"

namespace troupe {

/// The consumer's side of an established connection: what arrives is queued for the engine, and what it releases goes
/// back as credit. Payloads stay in the buffers they were read into.
class edge_receiver final : public connection_role {
 public:
  edge_receiver(std::shared_ptr<receiver_link> link, const payload_codec& codec)
      : link_(std::move(link)), codec_(codec), pool_(link_->slots + 1) {}

  std::shared_ptr<aligned_buffer> place_for(std::uint64_t bytes) override { return pool_.take(bytes); }
  void on_part(std::size_t bytes) override;
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing_frame& out) override;
  [[nodiscard]] bool finished() const override { return close_sent_ && peer_closed_; }
  [[nodiscard]] bool leaving() const override;
  void lost(const error& why, const std::string& peer) override;

 private:
  expected<void> on_activation(const activation_frame& head, std::span<const std::byte> payload,
                               std::shared_ptr<aligned_buffer> owner);
  expected<activation> rebuild(const activation_frame& head, std::span<const std::byte> payload,
                               const std::shared_ptr<aligned_buffer>& owner) const;
  expected<void> queue_up(activation message);
  expected<void> on_close(const close_frame& close);

  const std::shared_ptr<receiver_link> link_;
  const payload_codec& codec_;
  buffer_pool pool_;
  std::uint64_t queued_ = 0;
  std::uint64_t told_ = 0;
  bool welcomed_ = false;
  bool close_sent_ = false;
  bool peer_closed_ = false;
};

}  // namespace troupe
