#pragma once

#include <memory>
#include <optional>

#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_link.hpp"

namespace troupe {

/// The producer's side of an established connection: what the engine queued goes out in order, credits come back.
class edge_sender final : public connection_role {
 public:
  edge_sender(std::shared_ptr<sender_link> link, const payload_codec& codec, bool payload_crc)
      : link_(std::move(link)), codec_(codec), payload_crc_(payload_crc) {}

  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing_frame& out) override;
  [[nodiscard]] bool finished() const override { return close_sent_ && peer_closed_; }
  [[nodiscard]] bool leaving() const override;
  void lost(const error& why, const std::string& peer) override;

 private:
  expected<void> on_credit(const credit_frame& credit);
  void on_close();
  void drop_rest();
  expected<void> begin(outgoing_frame& out);
  void gather(gathered_bytes& body) const;

  const std::shared_ptr<sender_link> link_;
  const payload_codec& codec_;
  const bool payload_crc_;
  /// Its tensors are sent from where they lie.
  activation sending_;
  std::uint64_t taken_ = 0;
  std::uint64_t released_ = 0;
  std::optional<call_number> flushed_;
  bool close_sent_ = false;
  bool peer_closed_ = false;
};

}  // namespace troupe
