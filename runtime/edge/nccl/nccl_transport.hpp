#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtime/edge/nccl/nccl_tools.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

/// Edges between two devices. Tensors go over NCCL, with a communicator of two ranks for each edge; everything else
/// (ids, rows, labels, shapes, flushes, credits, closes) goes over an announcing edge of another transport, that offers
/// no memory. The contact and the offer are that transport's.
///
/// Beyond edge.hpp:
/// - An announced message is checked, and memory of the device is taken, before it is received. It is handed out when
///   it is complete; until then nothing waits.
/// - A payload is kept until it has been sent. try_send throws what device_codec::check() and the codec of labels
///   throw, and leaves the activation as it was then.
/// - What NCCL or the device reports, and what takes longer than its deadline, loses the end (E0708), as the loss of
/// the
///   announcing edge does. Its communicator is revoked and aborted by another thread, as that may hang: then that
///   thread and the memory in use are abandoned. The edge of the next epoch has a communicator of its own.
/// - abandon() does the same without a word.
/// - With at most limits::pipe_buffers_max - 1 slots all may be on their way; of the greatest number one waits here.
class nccl_transport final : public transport {
 public:
  /// Tools of this process's device. An offer needs none.
  using tools_source = std::function<expected<std::shared_ptr<const nccl_tools>>()>;

  /// `make_announcing` gets the codec for the announcing edges, over `codec` for labels; its errors. `tools` is asked
  /// when the first end is opened, and again after it failed; ends also fail with E0614 and with what
  /// device_context::enter_thread() fails with.
  [[nodiscard]] static expected<std::shared_ptr<nccl_transport>> open(
      tools_source tools, std::shared_ptr<const payload_codec> codec,
      const std::function<expected<std::shared_ptr<transport>>(std::shared_ptr<const payload_codec>)>& make_announcing);
  ~nccl_transport() override;

  [[nodiscard]] std::uint64_t contact() const noexcept override;
  [[nodiscard]] bool may_be_contact(std::uint64_t said) const noexcept override;
  [[nodiscard]] bool loses_ends() const noexcept override { return true; }
  [[nodiscard]] expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override;
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override;
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override;

  /// For tests: if nothing is under way here but what the announcing transport does, a number. The next one is one
  /// more if nothing came in between.
  [[nodiscard]] std::optional<std::uint32_t> settled_at() const;
  /// Ends of communicators that hung and were given up.
  [[nodiscard]] std::uint32_t abandoned_ends() const;

 private:
  struct inside;
  explicit nccl_transport(std::unique_ptr<inside> made);
  const std::unique_ptr<inside> inside_;
};

}  // namespace troupe
