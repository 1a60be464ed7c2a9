// What a user's file of nodes may hold: any bytes are nodes within the limits or an error with a place, and nodes that
// were understood can be said again.
#include <string>
#include <string_view>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/launch/hostfile.hpp"

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto nodes = troupe::parse_hostfile(input, "hosts");
  if (!nodes) {
    TROUPE_CHECK(!nodes.error().where.empty() && !nodes.error().cause.empty(), "an error has a place and a cause");
    return 0;
  }
  TROUPE_CHECK(!nodes->empty() && nodes->size() <= troupe::limits::launch_nodes_max, "nodes are within the limits");
  std::string again;
  for (const troupe::launch_node& each : *nodes) {
    TROUPE_CHECK(each.slots >= 1 && each.slots <= troupe::limits::node_slots_max, "slots are within the limits");
    again += each.name + " slots=" + std::to_string(each.slots) + "\n";
  }
  if (again.size() > troupe::limits::hostfile_bytes_max) return 0;
  const auto read_again = troupe::parse_hostfile(again, "again");
  TROUPE_CHECK(read_again && *read_again == *nodes, "nodes can be said again");
  return 0;
}
