#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"
#include "peer.hpp"

namespace troupe::bench {

/// What there is to measure: memcpy, inproc, and all lane_kinds().
[[nodiscard]] std::vector<std::string> lane_names();

/// Lanes that are open on both sides, and who serves the other one: a process, and for inproc a thread. Lives in the
/// thread that measures: the process ends with it.
class opened_lanes {
 public:
  /// In this order, each name once. Every end waits as `wait` says. Throws.
  opened_lanes(const std::vector<std::string>& names, const patience& wait);
  opened_lanes(const opened_lanes&) = delete;
  opened_lanes& operator=(const opened_lanes&) = delete;
  ~opened_lanes() { close(); }

  [[nodiscard]] const std::vector<lane>& lanes() const noexcept { return lanes_; }

 private:
  void open(const std::string& name, const patience& wait);
  void close() noexcept;

  std::optional<peer_process> process_;
  std::optional<peer_thread> thread_;
  std::vector<lane> lanes_;
};

}  // namespace troupe::bench
