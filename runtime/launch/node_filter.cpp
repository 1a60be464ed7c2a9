#include "runtime/launch/node_filter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/launch/filter_text.hpp"
#include <troupe/limits.hpp>

namespace troupe {
namespace {

expected<void> check_combination(const node_filter& filter) {
  const auto contradict = [](std::string_view a, std::string_view b) {
    return fail(error_code::flags_contradict, std::string(a), fmt::format("{} is given as well", b),
                fmt::format("take {} or {} away", a, b));
  };
  if (filter.include && filter.exclude) return contradict("--include", "--exclude");
  const std::string_view text = filter.include ? "--include" : filter.exclude ? "--exclude" : "";
  if (!text.empty() && filter.num_nodes) return contradict("--num-nodes", text);
  if (!text.empty() && filter.num_slots) return contradict("--num-slots", text);
  return {};
}

/// Slots 0 to N-1 of the first nodes; all where nothing is given.
expected<std::vector<named_slots>> name_first(std::span<const launch_node> nodes, const node_filter& filter) {
  const std::uint64_t count = filter.num_nodes.value_or(nodes.size());
  if (count == 0 || count > nodes.size()) {
    return fail(error_code::value_out_of_range, "--num-nodes", fmt::format("{} of {} nodes", count, nodes.size()),
                fmt::format("use 1 to {}", nodes.size()));
  }
  const std::span<const launch_node> first = nodes.first(static_cast<std::size_t>(count));
  const std::uint32_t least = std::ranges::min(first, {}, &launch_node::slots).slots;
  const launch_node& smallest = *std::ranges::find(first, least, &launch_node::slots);
  if (filter.num_slots && (*filter.num_slots == 0 || *filter.num_slots > least)) {
    return fail(error_code::value_out_of_range, "--num-slots",
                fmt::format("{} slots, node {} has {}", *filter.num_slots, smallest.name, least),
                fmt::format("use 1 to {}", least));
  }
  std::vector<named_slots> named(nodes.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    named[i].assign(static_cast<std::size_t>(filter.num_slots.value_or(first[i].slots)), true);
  return named;
}

/// Turns the named slots of an exclusion into those that are left.
void invert(std::span<const launch_node> nodes, std::vector<named_slots>& named) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    named[i].resize(nodes[i].slots);
    named[i].flip();
  }
}

expected<std::vector<named_slots>> apply(std::span<const launch_node> nodes, const node_filter& filter) {
  if (filter.include) return read_filter(nodes, "--include", *filter.include);
  if (!filter.exclude) return name_first(nodes, filter);
  return read_filter(nodes, "--exclude", *filter.exclude).map([&](std::vector<named_slots> named) {
    invert(nodes, named);
    return named;
  });
}

expected<void> check_total(const std::vector<named_slots>& used, const node_filter& filter) {
  std::uint64_t total = 0;
  for (const named_slots& slots : used) total += static_cast<std::uint64_t>(std::ranges::count(slots, true));
  const std::string place = filter.include ? "--include" : filter.exclude ? "--exclude" : "slots of the launch";
  if (total == 0)
    return fail(error_code::value_out_of_range, place, "no slot is left", "leave at least one slot of one node");
  if (total > limits::ranks_max) {
    return fail(error_code::value_out_of_range, place,
                fmt::format("{} slots, a launch has at most {}", total, limits::ranks_max), "use fewer nodes or slots");
  }
  return {};
}

}  // namespace

expected<std::vector<node_slots>> select_nodes(std::span<const launch_node> nodes, const node_filter& filter) {
  if (auto checked = check_combination(filter); !checked) return tl::make_unexpected(std::move(checked.error()));
  if (nodes.empty())
    return fail(error_code::value_out_of_range, "nodes of the launch", "there is none", "name at least one node");
  const auto used = TROUPE_TRY(apply(nodes, filter));
  if (auto checked = check_total(used, filter); !checked) return tl::make_unexpected(std::move(checked.error()));
  std::vector<node_slots> selected;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    node_slots node{nodes[i].name, {}};
    for (std::uint32_t slot = 0; slot < used[i].size(); ++slot)
      if (used[i][slot]) node.slots.push_back(slot);
    if (!node.slots.empty()) selected.push_back(std::move(node));
  }
  return selected;
}

}  // namespace troupe
