#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "messages/worker.hpp"
#include "runtime/edge/arrival_faults.hpp"
#include "runtime/edge/edge.hpp"
#include "runtime/os/blob.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What both ends of an edge between two processes get. The driver makes it, once for an edge.
struct edge_offer {
  /// Memory of the edge. It reaches only processes of this host.
  std::optional<blob> memory = std::nullopt;
  /// Told to the processes of the two ends alone; at most limits::edge_offer_words_max.
  std::vector<std::uint64_t> words = {};
};

/// How far apart the two ends of an edge are.
enum class edge_reach : std::uint8_t {
  host,     ///< their processes can share memory
  network,  ///< their processes are on two nodes
  devices,  ///< both are on devices; NCCL connects them whatever the nodes, cuda_ipc those of one host
};

/// One end of an edge to another process.
struct edge_site {
  epoch_number epoch = 0;
  /// Position in wiring_plan::channels. Each epoch has an edge of its own for it.
  std::size_t channel = 0;
  /// Slots of the edge. Both bells are that of the engine at this end.
  edge_options shape = {};
  edge_offer offer = {};
  /// The contact of the process at the other end.
  edge_contact peer = {};
  /// The bell of the engine at the other end where the offer has memory, else null.
  std::shared_ptr<doorbell> peer_bell = nullptr;
  /// The other end is lost: once at most, on any thread; it must not wait. May be empty, as on_damaged.
  std::function<void(const error&)> on_lost = {};
  /// What came from the other end cannot be: once at most, on the thread of the end.
  std::function<void(const error&)> on_damaged = {};
  /// Grows while a payload comes in parts, of a consumer's end; null where that is not asked for.
  std::shared_ptr<std::atomic<std::uint64_t>> arrived_bytes = nullptr;
  /// Null without a fault plan. A producer's end suffers no damage.
  std::shared_ptr<arrival_faults> faults = nullptr;
};

/// The edges of one process to other processes of its run, by one kind of channel. After on_lost and on_damaged an end
/// is silent. The ends keep the contract of edge.hpp; the suites over this interface are in tests/runtime/transport.
/// Threads: any.
class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  /// Where producers in other processes find the consumers in this one; 0: they need not find it.
  [[nodiscard]] virtual std::uint64_t contact() const noexcept = 0;
  /// Whether another process of the run can have this contact.
  [[nodiscard]] virtual bool may_be_contact(std::uint64_t said) const noexcept = 0;
  /// Whether an end can be lost while both processes live.
  [[nodiscard]] virtual bool loses_ends() const noexcept = 0;
  /// Whether a stage that waits leaves its core to a thread of this process that moves what comes and goes, rather than
  /// spin. Not asked of edges between devices: their threads wait for the device.
  [[nodiscard]] virtual bool has_thread() const noexcept { return false; }

  /// A new edge, between any two processes of the run that are so far apart. E0614 where the system refuses; E0404 for
  /// a transport that does not reach so far.
  [[nodiscard]] virtual expected<edge_offer> offer(const edge_options& shape, edge_reach reach) = 0;
  /// Neither waits for the other end. Errors: E0614; E0702, E0703 for an offer that is none.
  [[nodiscard]] virtual expected<std::unique_ptr<edge_consumer>> open_consumer(edge_site site) = 0;
  [[nodiscard]] virtual expected<std::unique_ptr<edge_producer>> open_producer(edge_site site) = 0;
};

}  // namespace troupe
