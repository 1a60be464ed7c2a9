#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/launch/node_filter.hpp"

namespace troupe {

/// What a launcher tells its driver about the launch. The texts are UTF-8.
struct launch_setup {
  /// In the order of ranks; at least one.
  std::vector<node_slots> nodes;
  /// Which of them is the driver's own host, where it starts workers without an agent. Empty: all nodes get agents.
  std::optional<std::size_t> driver_node;
  /// Where agents find the driver, in the order of attempts: 1 to limits::join_addresses_max.
  std::vector<std::string> addresses;
  /// On which it listens; 0: any free one.
  std::uint16_t port = 0;
  /// From the launch until all agents have joined.
  std::chrono::milliseconds join_timeout{};
  /// That of the launch. Empty: limits::worker_silence_timeout.
  std::optional<std::chrono::milliseconds> worker_timeout;
  /// From launch_stop until the driver is killed.
  std::chrono::milliseconds grace{};
  /// Stages of a lost node may go to slots that are taken.
  bool allow_shrink = false;
  /// As the user wrote --placement.
  std::optional<std::string> placement;
  /// For every worker on every node: names and values, each name once.
  std::vector<std::pair<std::string, std::string>> environment;
  bool bind_cores = false;
  /// A directory for a file per rank, with the driver.
  std::optional<std::string> log_dir;
  /// Output of ranks goes to the driver's stderr as well.
  bool tee = false;
  friend bool operator==(const launch_setup&, const launch_setup&) = default;
};

}  // namespace troupe
