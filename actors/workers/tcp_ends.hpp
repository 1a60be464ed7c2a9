#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/edge/tcp/tcp_edge.hpp"

namespace troupe {

/// The tcp edges of one process of a run, to other processes of this host: on loopback, where whoever connects has to
/// know the run's secret. Nothing here waits for the other side. Threads: any.
class tcp_ends {
 public:
  /// Listens. Errors: tcp_endpoint::open().
  [[nodiscard]] static expected<std::shared_ptr<tcp_ends>> open(std::shared_ptr<const payload_codec> codec,
                                                                std::optional<bool> payload_crc);

  /// 128 random bits.
  [[nodiscard]] static expected<edge_secret> make_secret();

  [[nodiscard]] std::uint16_t port() const noexcept { return endpoint_->port(); }
  /// Before the first end is made.
  void know(const edge_secret& secret) { secret_ = secret; }

  /// An end is silent from then on. On the I/O thread; must not wait.
  using loss_handler = std::function<void(epoch_number epoch, const error& why)>;
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> accept(epoch_number epoch, std::size_t channel,
                                                                const edge_options& shape, loss_handler on_lost);
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> connect(epoch_number epoch, std::size_t channel,
                                                                 std::uint16_t port, const edge_options& shape,
                                                                 loss_handler on_lost);

 private:
  explicit tcp_ends(std::unique_ptr<tcp_endpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  [[nodiscard]] edge_key key(epoch_number epoch, std::size_t channel) const;

  const std::unique_ptr<tcp_endpoint> endpoint_;
  edge_secret secret_{};
};

}  // namespace troupe
