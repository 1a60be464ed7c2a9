#include "runtime/transport/transport_table.hpp"

#include <algorithm>
#include <array>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/edge/shm/shm_transport.hpp"
#include "runtime/edge/tcp/tcp_transport.hpp"

namespace troupe {
namespace {

std::shared_ptr<edge_factory> inproc_within(const transport_options&) {
  return std::make_shared<inproc_edge_factory>();
}
std::shared_ptr<edge_factory> shm_within(const transport_options& options) {
  return std::make_shared<shm_edge_factory>(options.codec);
}
expected<std::shared_ptr<transport>> shm_between(const transport_options& options) {
  return make_shm_transport(options.codec);
}
expected<std::shared_ptr<transport>> tcp_between(const transport_options& options) {
  return open_tcp_transport(options.codec, options.payload_crc);
}

/// The first that can is the one that is taken by itself.
constexpr std::array rows = {
    transport_row{.name = "inproc", .within = inproc_within, .between = nullptr},
    transport_row{.name = "shm", .within = shm_within, .between = shm_between, .files_per_edge = 4},
    transport_row{
        .name = "tcp", .within = nullptr, .between = tcp_between, .threads = 1, .files = 8, .files_per_edge = 4},
};

template <class Does>
const transport_row& choose(std::string_view name, Does transport_row::*does) {
  const auto named = std::ranges::find(rows, name, &transport_row::name);
  if (named != rows.end() && named->*does != nullptr) return *named;
  return *std::ranges::find_if(rows, [&](const transport_row& row) { return row.*does != nullptr; });
}

}  // namespace

const transport_row& within_process(std::string_view name) {
  return choose(name, &transport_row::within);
}

const transport_row& between_processes(std::string_view name) {
  return choose(name, &transport_row::between);
}

}  // namespace troupe
