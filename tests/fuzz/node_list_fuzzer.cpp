// What a scheduler says in its environment: any bytes are names and counts within the limits, or an error with a place.
// The first byte chooses between lists of nodes and of counts.
#include <set>
#include <string>
#include <string_view>

#include "fuzz_targets.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/launch/node_list.hpp"

namespace {

template <class List>
bool is_judged(const troupe::expected<List>& read) {
  if (!read) return !read.error().where.empty() && !read.error().cause.empty();
  return !read->empty() && read->size() <= troupe::limits::launch_nodes_max;
}

}  // namespace

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'c') {
    const auto counts = troupe::expand_counts(input, "counts");
    TROUPE_CHECK(is_judged(counts), "counts are within the limits, or an error has a place and a cause");
    return 0;
  }
  const auto names = troupe::expand_node_list(input, "nodes");
  TROUPE_CHECK(is_judged(names), "names are within the limits, or an error has a place and a cause");
  if (!names) return 0;
  TROUPE_CHECK(std::set<std::string>(names->begin(), names->end()).size() == names->size(), "no name comes twice");
  if (names->size() > 64) return 0;
  std::string again;
  for (const std::string& each : *names) again += (again.empty() ? "" : ",") + each;
  const auto read_again = troupe::expand_node_list(again, "again");
  TROUPE_CHECK(read_again && *read_again == *names, "names can be said again");
  return 0;
}
