#include "runtime/transport/transport_table.hpp"

#include <algorithm>
#include <array>

#include "messages/try.hpp"
#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/nccl/announcement.hpp"
#include "runtime/edge/nccl/nccl_transport.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/edge/shm/shm_transport.hpp"
#include "runtime/edge/tcp/tcp_transport.hpp"
#include "runtime/transport/mixed_transport.hpp"

namespace troupe {
namespace {

std::shared_ptr<edge_factory> inproc_within(const transport_options&) {
  return std::make_shared<inproc_edge_factory>();
}
std::shared_ptr<edge_factory> shm_within(const transport_options& options) {
  return std::make_shared<shm_edge_factory>(options.codec);
}
expected<std::shared_ptr<transport>> shm_between(const transport_options& options) {
  return make_shm_transport(options.codec, options.payload_crc.value_or(false));
}
expected<std::shared_ptr<transport>> tcp_between(const transport_options& options) {
  return open_tcp_transport({.codec = options.codec,
                             .payload_crc = options.payload_crc,
                             .network = options.network,
                             .endpoint = options.endpoint,
                             .silence = options.silence});
}

expected<std::shared_ptr<transport>> shm_and_tcp_between(const transport_options& options) {
  return tcp_between(options).and_then([&](const std::shared_ptr<transport>& far) {
    return shm_between(options).map(
        [&](std::shared_ptr<transport>&& near) { return make_mixed_transport(std::move(near), far); });
  });
}

// Announcements go over the connections that also join nodes: their codec leaves all other payloads as they are.
expected<std::shared_ptr<transport>> nccl_between(const transport_options& options) {
  if (!options.devices.nccl) {
    return fail(error_code::device_unavailable, "--transport nccl",
                "NCCL connects CUDA devices, and this process has none", "Leave it out, or use --transport shm or tcp");
  }
  std::shared_ptr<transport> far;
  const auto devices = TROUPE_TRY(
      nccl_transport::open(options.devices.nccl, options.codec, [&](std::shared_ptr<const payload_codec> codec) {
        transport_options announcing = options;
        announcing.codec = std::move(codec);
        return tcp_between(announcing).map([&](std::shared_ptr<transport>&& made) { return far = std::move(made); });
      }));
  return shm_between(options).map(
      [&](std::shared_ptr<transport>&& near) { return make_mixed_transport(std::move(near), far, devices); });
}

// No far kind: shm says so (E0404).
expected<std::shared_ptr<transport>> ipc_between(const transport_options& options) {
  if (!options.devices.ipc) {
    return fail(error_code::device_unavailable, "cuda_ipc", "it connects CUDA devices, and this process has none",
                "Use --transport shm");
  }
  const auto devices = ipc_transport::open(options.devices.ipc, options.codec, options.payload_crc.value_or(false));
  return shm_between(options).map([&](auto&& near) { return make_mixed_transport(near, near, devices); });
}

/// The first that can is the one that is taken by itself.
constexpr std::array rows = {
    transport_row{.name = "inproc", .within = inproc_within, .between = nullptr},
    transport_row{.name = "shm", .within = shm_within, .between = shm_between, .files_per_edge = 4},
    transport_row{.name = "shm and tcp",
                  .within = nullptr,
                  .between = shm_and_tcp_between,
                  .leaves_host = true,
                  .threads = 1,
                  .files = 8,
                  .files_per_edge = 4},
    transport_row{.name = "tcp",
                  .within = nullptr,
                  .between = tcp_between,
                  .leaves_host = true,
                  .threads = 1,
                  .files = 8,
                  .files_per_edge = 4},
    transport_row{.name = "nccl",
                  .within = nullptr,
                  .between = nccl_between,
                  .leaves_host = true,
                  .threads = 3,
                  .files = 8,
                  .files_per_edge = 4},
    transport_row{
        .name = "cuda_ipc", .within = nullptr, .between = ipc_between, .threads = 1, .files = 0, .files_per_edge = 4},
};

template <class Can>
const transport_row& choose(std::string_view name, Can can) {
  const auto named = std::ranges::find(rows, name, &transport_row::name);
  return named != rows.end() && can(*named) ? *named : *std::ranges::find_if(rows, can);
}

}  // namespace

const transport_row& within_process(std::string_view name) {
  return choose(name, [](const transport_row& row) { return row.within != nullptr; });
}

const transport_row& between_processes(std::string_view name) {
  return choose(name, [](const transport_row& row) { return row.between != nullptr; });
}

const transport_row& between_nodes(std::string_view name) {
  return choose(name, [](const transport_row& row) { return row.between != nullptr && row.leaves_host; });
}

}  // namespace troupe
