#pragma once

#include <functional>
#include <memory>

#include "runtime/edge/cuda_ipc/ipc_tools.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

/// Edges between two devices of one host that reach each other's memory, or one device. A tensor lies where
/// the stage made it, or is copied to a ring of slots in memory of the producer's device (slot_ring.hpp); the consumer
/// opens that memory and views it in place. Everything else (ids, rows, labels,
/// shapes, where the tensors are, flushes, credits, closes) goes over an announcing edge in shared memory
/// (shm_edge.hpp). Slots of both are the same. The memory of the announcing edge is the offer; a process has no
/// contact.
///
/// Beyond edge.hpp:
/// - A message is finished when it is sent: the work that makes it is done. try_send lends it and keeps the payload
///   until the slot is sent again (lent_memory.hpp), or gives its stream a copy into the slot and keeps the payload
///   until it was copied. It throws what the codecs throw, and std::runtime_error where the device has no memory, and
///   leaves message and edge as they were.
/// - A message is handed on when the event of its copy has passed. No stream waits for another process.
/// - A slot comes back as that of a shm edge, and not before ipc_tools::readers has passed the drop of the last view.
/// - What comes is untrusted: nonsense is told as on_damaged (E0701, E0702), once; then the end is silent. What the
///   device refuses (E0902), and a message that does not arrive in its time (E0708), loses the end.
/// - The first end that is opened starts the one thread that watches the device's events.
/// - The death of a peer is silence. A producer that is gone leaves its slots to the consumer until it has released
///   them, or for limits::ipc_linger_timeout.
/// - Checksums are those of the announcing edge: they do not cover what lies on the device.
class ipc_transport final : public transport {
 public:
  /// Tools of this process's device. An offer needs none.
  using tools_source = std::function<expected<std::shared_ptr<const ipc_tools>>()>;

  /// `tools` is asked when the first end is opened, and again after it failed.
  [[nodiscard]] static std::shared_ptr<ipc_transport> open(tools_source tools,
                                                           std::shared_ptr<const payload_codec> codec,
                                                           bool checksums = false);

  ~ipc_transport() override;

  [[nodiscard]] std::uint64_t contact() const noexcept override { return 0; }
  [[nodiscard]] bool may_be_contact(std::uint64_t said) const noexcept override { return said == 0; }
  [[nodiscard]] bool loses_ends() const noexcept override { return true; }
  [[nodiscard]] expected<edge_offer> offer(const edge_options& shape, edge_reach reach) override;
  /// Also what the source of the tools and device_context::enter_thread() fail with.
  [[nodiscard]] expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) override;
  /// The same, and what device_context::make_stream() fails with.
  [[nodiscard]] expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) override;

  /// For tests: no end waits for what the device of this process does.
  [[nodiscard]] bool is_settled() const;

 private:
  struct inside;
  explicit ipc_transport(std::unique_ptr<inside> made);
  const std::unique_ptr<inside> inside_;
};

}  // namespace troupe
