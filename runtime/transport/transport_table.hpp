#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "runtime/edge/edge.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/transport/device_tools.hpp"
#include <troupe/error.hpp>

namespace troupe {

class tcp_endpoint;
struct node_network;

struct transport_options {
  std::shared_ptr<const payload_codec> codec = nullptr;
  /// worker_options::checksums.
  std::optional<bool> payload_crc = std::nullopt;
  /// The network of a process on several nodes; null: no edge leaves this host, and none is encrypted.
  std::shared_ptr<const node_network> network = nullptr;
  /// One that is open already, with this codec and network; null: the transport opens its own.
  std::shared_ptr<tcp_endpoint> endpoint = nullptr;
  /// worker_options::timeout, of edges that do not leave this host; nothing: as tcp_endpoint_options has it.
  std::optional<std::chrono::milliseconds> silence = std::nullopt;
  /// Tools of this process's device. With edges over NCCL `endpoint` has the codec of nccl::announcing_codec() over
  /// these.
  device_tools devices = {};
};

/// One kind of edge: what it can connect, and what it takes.
struct transport_row {
  /// As --transport has it.
  std::string_view name;
  /// Edges with both ends in one process; null: it has none.
  std::shared_ptr<edge_factory> (*within)(const transport_options& options);
  /// Edges between processes; null: it has none.
  expected<std::shared_ptr<transport>> (*between)(const transport_options& options);
  /// They may be on two nodes.
  bool leaves_host = false;
  /// Needs of each process that has edges to others.
  std::uint32_t threads = 0;
  std::size_t files = 0;
  /// At either end, of the edge of the last epoch and of the new one.
  std::size_t files_per_edge = 0;
};

/// The row of this name, or, if it cannot do this or there is none, the first that can: inproc within a process; shm
/// between processes of a host; on several nodes shm on each and tcp between them. `nccl` is the same with NCCL between
/// devices (edge_reach::devices), E0110 without device_tools; `cuda_ipc` is shm with memory of the devices between
/// those of one host, and no value of --transport. An offer needs no device, the opening of an end does.
[[nodiscard]] const transport_row& within_process(std::string_view name);
[[nodiscard]] const transport_row& between_processes(std::string_view name);
[[nodiscard]] const transport_row& between_nodes(std::string_view name);

}  // namespace troupe
