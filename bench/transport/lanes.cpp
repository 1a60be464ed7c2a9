#include "lanes.hpp"

#include <algorithm>

namespace troupe::bench {
namespace {

std::vector<std::unique_ptr<lane_kind>> make_kinds() {
  std::vector<std::unique_ptr<lane_kind>> made;
  made.push_back(shm_kind("shm", false));
  made.push_back(shm_kind("shm-crc", true));
  made.push_back(tcp_kind("tcp", {.tls = false, .crc = true}));
  made.push_back(tcp_kind("tcp-no-crc", {.tls = false, .crc = false}));
  made.push_back(tcp_kind("tls", {.tls = true, .crc = true}));
  made.push_back(tcp_kind("tls-no-crc", {.tls = true, .crc = false}));
  made.push_back(unix_socket_kind());
  made.push_back(tcp_socket_kind());
  if (auto gloo = gloo_kind()) made.push_back(std::move(gloo));
  return made;
}

}  // namespace

const std::vector<std::unique_ptr<lane_kind>>& lane_kinds() {
  static const std::vector<std::unique_ptr<lane_kind>> kinds = make_kinds();
  return kinds;
}

const lane_kind& kind_named(const std::string& name) {
  const auto found = std::ranges::find(lane_kinds(), name, [](const auto& kind) { return kind->name(); });
  if (found == lane_kinds().end()) throw transport_failure("there is no transport '" + name + "'");
  return **found;
}

}  // namespace troupe::bench
