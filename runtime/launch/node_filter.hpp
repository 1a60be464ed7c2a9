#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/launch/hostfile.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Which nodes and slots of a hostfile a launch uses, as the user writes it. A field that is not given filters nothing.
struct node_filter {
  /// --include and --exclude: nodes with '@' between them, each alone or with slots: "w0@w1:0,2@[::1]:4-7". A range
  /// has both of its ends; an IPv6 address has brackets.
  std::optional<std::string> include;
  std::optional<std::string> exclude;
  /// --num-nodes: the first nodes.
  std::optional<std::uint64_t> num_nodes;
  /// --num-slots: the first slots of each node.
  std::optional<std::uint64_t> num_slots;
  friend bool operator==(const node_filter&, const node_filter&) = default;
};

/// A node of a launch and the slots that are used: at least one, ascending.
struct node_slots {
  std::string name;
  std::vector<std::uint32_t> slots;
  friend bool operator==(const node_slots&, const node_slots&) = default;
};

/// The nodes that are left, in the order of `nodes` however the filter orders them, as DeepSpeed does. A node without a
/// slot left is left out. Unlike DeepSpeed, a repeated node or slot is an error, as are more nodes or slots than exist.
///
/// Errors: E0104 for include with exclude, and for either with num_nodes or num_slots; E0102 for an unknown node; E0103
/// for all else, also where nothing is left or more than limits::ranks_max slots. Those about a text have the place
/// "--include, character N", in bytes from 1.
expected<std::vector<node_slots>> select_nodes(std::span<const launch_node> nodes, const node_filter& filter);

}  // namespace troupe
