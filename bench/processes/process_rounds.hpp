#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../rounds.hpp"

namespace troupe::bench {

/// The variants of a row, by name.
namespace variant {
inline const std::string plain = "plain loop";
inline const std::string one_process = "2 stages, 1 process";
inline const std::string one_process_journal = "2 stages, 1 process, journal";
inline const std::string processes = "2 stages, processes";
inline const std::string processes_journal = "2 stages, processes, journal";
inline const std::string processes_quiet = "2 stages, processes, no heartbeats";
inline const std::string processes_tcp = "2 stages, processes, tcp";
inline const std::string processes_tcp_plain = "2 stages, processes, tcp without CRC";
inline const std::string four_shallow = "4 stages, processes, 2 pipe buffers";
inline const std::string shallow = "2 stages, processes, 2 pipe buffers";
inline const std::string four_one_process = "4 stages, 1 process";
inline const std::string four_processes = "4 stages, processes";
inline const std::string alone_0 = "stage 0 alone";
inline const std::string alone_1 = "stage 1 alone";
inline const std::string side_by_side = "both stages side by side";
}  // namespace variant

/// Microseconds per micro-batch of every variant in one round.
using variant_times = std::map<std::string, double>;

struct measured_processes {
  std::string model;
  std::uint64_t micro_batch = 1;
  std::uint64_t micro_batches = 0;
  bool even = false;
  std::vector<variant_times> rounds;
  /// Variants whose metrics differ from the plain loop's in any bit.
  std::vector<std::string> different;
};

enum class variant_choice : std::uint8_t {
  all,
  /// What the efficiency of two stages is made of: the plain loop, the stages alone and side by side, and two stages in
  /// one process and in two.
  efficiency,
};

/// Like measure() of rounds.hpp, but in an order that is drawn anew for each round, the same in each run.
expected<measured_processes> measure_processes(const workload& work, const round_options& options,
                                               variant_choice choice);

}  // namespace troupe::bench
