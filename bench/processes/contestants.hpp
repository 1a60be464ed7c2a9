#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "../loops.hpp"
#include "../pipeline_variant.hpp"

namespace troupe::bench {

/// Whatever can be measured, by name.
namespace variant {
inline const std::string plain = "plain loop";
inline const std::string slowest_alone = "slowest stage alone";
inline const std::string side_by_side = "both stages side by side";
inline const std::string one_process = "2 stages, 1 process";
inline const std::string one_process_journal = "2 stages, 1 process, journal";
inline const std::string four_one_process = "4 stages, 1 process";
inline const std::string processes = "2 stages, processes";
inline const std::string processes_journal = "2 stages, processes, journal";
inline const std::string processes_quiet = "2 stages, processes, no heartbeats";
inline const std::string processes_tcp = "2 stages, processes, tcp";
inline const std::string processes_tcp_plain = "2 stages, processes, tcp without CRC";
inline const std::string four_processes = "4 stages, processes";
}  // namespace variant

/// The variants of one workload: pipelines are started when they are first asked for, and parked while they are not
/// measured. Their destructor ends their workers.
class contestants {
 public:
  static expected<std::unique_ptr<contestants>> gather(const workload& work);

  /// Starts what a variant needs, so that the first measurement does not.
  expected<void> prepare(const std::string& name);
  /// `count` micro-batches of a prepared variant.
  expected<measurement> run(const std::string& name, std::uint64_t count);
  /// What comes out is the metrics of all `count` micro-batches.
  static bool is_comparable(const std::string& name);

  /// So many that the plain loop takes about `seconds`.
  [[nodiscard]] expected<std::uint64_t> count_for(double seconds) const;
  /// Alone, medians of some measurements of `count`: the slowest stage's time, and the other one's relative to that.
  [[nodiscard]] double slowest_stage_us() const { return slowest_us_; }
  [[nodiscard]] double other_stage_share() const { return other_us_ / slowest_us_; }
  expected<void> find_slowest_stage(std::uint64_t count);

 private:
  contestants(const workload& work, plain_loop plain) : work_(work), plain_(std::move(plain)) {}
  expected<pipeline_variant> start(const std::string& name) const;
  expected<measurement> run_piped(const std::string& name, std::uint64_t count, bool with_journal);

  const workload& work_;
  plain_loop plain_;
  std::optional<lone_stages> alone_;
  std::size_t slowest_ = 0;
  double slowest_us_ = 0;
  double other_us_ = 0;
  std::map<std::string, pipeline_variant> piped_;
};

}  // namespace troupe::bench
