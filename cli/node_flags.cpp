#include "node_flags.hpp"

#include <algorithm>
#include <tuple>

#include "count_flag.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe::cli {
namespace {

std::optional<std::string> if_given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

node_flags::node_flags(parser& into, const std::string& hostfile_help) {
  into.add_text("--hostfile,-H", hostfile_, hostfile_help, "FILE");
  into.add_text("--include,-i", include_, "Nodes and slots to use, such as w0@w1:0,2", "NODES");
  into.add_text("--exclude,-e", exclude_, "Nodes and slots to leave out", "NODES");
  into.add_text(both_spellings("--num-nodes"), num_nodes_, "Only the first N nodes", "N");
  into.add_text(both_spellings("--num-slots") + ",--num-gpus,--num_gpus", num_slots_,
                "Only the first N slots of each node", "N");
}

std::optional<std::string> node_flags::hostfile() const {
  return if_given(hostfile_);
}

expected<node_filter> node_flags::filter() const {
  node_filter filter;
  filter.include = if_given(include_);
  filter.exclude = if_given(exclude_);
  for (const auto& [name, given, into] : {std::tuple{"num_nodes", &num_nodes_, &filter.num_nodes},
                                          std::tuple{"num_slots", &num_slots_, &filter.num_slots}}) {
    if (given->empty()) continue;
    *into = TROUPE_TRY(read_count(name, *given, limits::ranks_max));
  }
  return filter;
}

std::string both_spellings(std::string name) {
  std::string other = name;
  std::replace(other.begin() + 2, other.end(), '-', '_');
  return other == name ? name : name + "," + other;
}

}  // namespace troupe::cli
