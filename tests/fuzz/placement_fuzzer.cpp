// What a user writes behind --placement, --include and --exclude, by the first byte: any bytes are places and slots
// that exist, or an error with a place.
#include <string_view>
#include <vector>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "runtime/launch/explicit_placement.hpp"
#include "runtime/launch/node_filter.hpp"

namespace {

const std::vector<troupe::node_slots> nodes = {{"w0", {0, 1}}, {"w1", {0, 2}}, {"fe80::1", {4}}};
const std::vector<troupe::launch_node> hosts = {{"w0", 2}, {"w1", 3}, {"fe80::1", 5}};
const std::vector<troupe::ranked_stage> ranks = {{"a.0", 0}, {"a.0", 1}, {"a.1", 0, "w1"}, {"a/0", 0}, {"b=1", 0}};

template <class Value>
void check_error(const troupe::expected<Value>& read) {
  TROUPE_CHECK(read || (!read.error().where.empty() && !read.error().cause.empty()),
               "an error has a place and a cause");
}

void place(std::string_view text) {
  const auto placed = troupe::place_explicitly(text, ranks, nodes);
  check_error(placed);
  if (!placed) return;
  TROUPE_CHECK(placed->size() == ranks.size(), "every rank has a node");
  std::vector<std::size_t> used(nodes.size());
  for (const std::size_t node : *placed) TROUPE_CHECK(++used.at(node) <= nodes[node].slots.size(), "slots hold one");
}

void filter(std::string_view text, bool includes) {
  troupe::node_filter asked;
  (includes ? asked.include : asked.exclude) = text;
  const auto left = troupe::select_nodes(hosts, asked);
  check_error(left);
  if (!left) return;
  TROUPE_CHECK(!left->empty(), "something is left");
  for (const troupe::node_slots& each : *left) TROUPE_CHECK(!each.slots.empty(), "a node has a slot");
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'i' || data[0] == 'e') {
    filter(input, data[0] == 'i');
  } else {
    place(input);
  }
  return 0;
}
