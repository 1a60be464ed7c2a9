#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "program/run/started_run.hpp"
#include "program/topology/checked_run.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// What a training has behind it, in the life of its weights.
struct training_counts {
  std::uint64_t steps = 0;
  /// Decisions about steps, those that were not carried out among them: the number of the next one in a journal.
  std::uint64_t decisions = 0;
  /// Where the schedule of learning rates is: training_options::learning_rate gets it next.
  std::uint64_t schedule_step = 0;
  /// Taken from the data in these steps.
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
};

/// All that a training goes on from, whatever its stages and replicas. Names are those of the model's state dict.
struct training_snapshot {
  /// Parameters and buffers.
  state_dict weights;
  /// "NAME.MOMENT", such as "0.weight.exp_avg"; empty: zero.
  state_dict moments;
  /// The steps that the moments are of.
  std::uint64_t step = 0;
  /// read_training() does not know them.
  training_counts counts = {};
};

/// The state after the decision of the call `through`; nothing: as at the start. The stages have it in memory that this
/// process has, too; a copy is returned. No call is open. E0609 where a stage does not carry the decision out in time;
/// E0620.
[[nodiscard]] expected<training_snapshot> read_training(const checked_run& run, const started_run& stages,
                                                        std::optional<call_number> through);

/// Writes the state of one stage into fresh memory, as the stage's body will find it. E0218 names a tensor that is
/// missing or has another shape.
[[nodiscard]] expected<void> write_training(const training_snapshot& from, const checked_run& run, stage_index stage,
                                            const trained_pipeline& pipeline, const blob& memory);

}  // namespace troupe
