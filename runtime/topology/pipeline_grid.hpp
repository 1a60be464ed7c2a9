#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/process_topology.hpp>

namespace troupe {

/// The topology where only the number of ranks is known: its prime factors, ascending, go to pipe and data in turn
/// (8 -> 4 x 2, 30 -> 10 x 3). E0504 for no rank or too many.
expected<process_topology> default_topology(std::uint64_t world_size);

/// What one rank sees of a topology with the axes pipe, data and, if there is one, model: DeepSpeed's
/// PipelineParallelGrid.
class pipeline_grid {
 public:
  /// E0504 if pipe or data is missing or there is an axis besides the three; E0103 for a rank outside.
  static expected<pipeline_grid> make(process_topology topology, rank_number rank);

  [[nodiscard]] const process_topology& topology() const noexcept { return topology_; }
  [[nodiscard]] rank_number global_rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint64_t stage_id() const;
  [[nodiscard]] std::uint64_t data_parallel_id() const;
  /// 0 without a model axis.
  [[nodiscard]] std::uint64_t model_parallel_id() const;

  [[nodiscard]] std::uint64_t pipe_parallel_size() const { return topology_.dimension("pipe"); }
  [[nodiscard]] std::uint64_t data_parallel_size() const { return topology_.dimension("data"); }
  /// 1 without a model axis.
  [[nodiscard]] std::uint64_t model_parallel_size() const;
  [[nodiscard]] bool is_first_stage() const { return stage_id() == 0; }
  [[nodiscard]] bool is_last_stage() const { return stage_id() + 1 == pipe_parallel_size(); }

  /// The rank of `stage` in this rank's own pipeline (same replica, same model part).
  [[nodiscard]] expected<rank_number> stage_to_global(std::uint64_t stage) const;
  /// The ranks of this rank's own pipeline, in stage order / its replicas / the parts of its tensors.
  [[nodiscard]] std::vector<rank_number> pipe_group() const { return group("pipe"); }
  [[nodiscard]] std::vector<rank_number> data_group() const { return group("data"); }
  [[nodiscard]] std::vector<rank_number> model_group() const { return group("model"); }

 private:
  pipeline_grid(process_topology topology, rank_number rank) : topology_(std::move(topology)), rank_(rank) {}
  [[nodiscard]] std::uint64_t along(std::string_view axis) const;
  /// The comm list along `axis` that holds this rank; this rank alone where there is no such axis.
  [[nodiscard]] std::vector<rank_number> group(std::string_view axis) const;

  process_topology topology_;
  rank_number rank_;
};

}  // namespace troupe
