#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/node_filter.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The tickets that a launcher leaves for agents which it does not start, one file of mode 0600 per node
/// (runtime/join/join_file.hpp). One thread at a time.
class join_files {
 public:
  /// `node_ranks`: of each node, the rank for join_file_of(prefix, rank). Files that are there already are removed, as
  /// they are of an earlier launch; E0611 where one cannot be.
  [[nodiscard]] static expected<join_files> make(std::string prefix, const std::vector<node_slots>& nodes,
                                                 const std::vector<std::uint32_t>& node_ranks);
  join_files(const join_files&) = delete;
  join_files& operator=(const join_files&) = delete;
  join_files(join_files&&) = default;
  join_files& operator=(join_files&&) = default;
  /// Removes the remaining files.
  ~join_files();

  /// Writes the node's file: under another name first, so that no agent reads a half-written file. E0404 for a text
  /// that is no ticket, E0103 for an unknown node, E0611 as write_join_file().
  [[nodiscard]] expected<void> write(const std::string& node, std::string_view ticket);
  /// The node has joined.
  void remove(const std::string& node);

 private:
  explicit join_files(std::map<std::string, std::string> paths) : paths_(std::move(paths)) {}

  std::map<std::string, std::string> paths_;  ///< by node
};

/// Waits for a file with a ticket of this launch, looking for it ever less often. A ticket that comes while it waits is
/// one, whatever the clocks of the nodes say; one that is there from the start may be of an earlier launch, unless it
/// has not expired by the clock of this node. `node` is for messages. Errors: E0614 at `deadline`, which names file,
/// node and how long ago the ticket has expired; those of read_join_file() for a file that is there. It blocks.
[[nodiscard]] expected<void> await_join_file(const std::string& path, const std::string& node,
                                             std::chrono::steady_clock::time_point deadline);

}  // namespace troupe
