#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "messages/training.hpp"
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
  /// stage_state_reader does not know them.
  training_counts counts = {};
};

/// Reads what the stages of a run have: their memory outlives their workers, on each node. Both objects outlive it.
/// Keeps the layers from one reading to the next. Threads: one at a time.
class stage_state_reader {
 public:
  /// `reads_often`: memory of a copy that is no longer in use is kept for the next one.
  stage_state_reader(const checked_run& run, const started_run& stages, bool reads_often);
  ~stage_state_reader();

  /// The state after the decision `last`; nothing: as at the start. A copy is returned. No call is open. E0609 where a
  /// stage does not carry the decision out in time; E0620 where the memory of a stage is lost.
  [[nodiscard]] expected<training_snapshot> read(const std::optional<step_decision>& last);
  /// The same where stages have ended, from whichever replica of each stage is left: a decision that it has not carried
  /// out is carried out in the copy. E0620 where none is left.
  [[nodiscard]] expected<training_snapshot> read_left(const std::optional<step_decision>& last);

 private:
  class stage;
  template <class Read>
  [[nodiscard]] expected<training_snapshot> read_all(const Read& read);

  const checked_run& run_;
  const started_run& stages_;
  const bool reads_often_;
  std::map<stage_index, std::unique_ptr<stage>> opened_;
};

/// Writes the state of one stage into fresh memory, as the stage's body will find it. E0218 names a tensor that is
/// missing or has another shape.
[[nodiscard]] expected<void> write_training(const training_snapshot& from, const checked_run& run, stage_index stage,
                                            const trained_pipeline& pipeline, const blob& memory);

}  // namespace troupe
