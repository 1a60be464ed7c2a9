#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/instruction.hpp>

namespace troupe {

enum class schedule_kind : std::uint8_t { inference, train, data_parallel };

/// "inference", "train", "data-parallel".
std::string_view schedule_kind_name(schedule_kind kind);
/// The reverse; E0102 lists the kinds.
expected<schedule_kind> parse_schedule_kind(std::string_view text);

/// The instructions of one step, in the order the stage executes them. A step is atomic: a barrier over all stages may
/// stand between two steps without deadlock. Empty where the stage has nothing to do.
using schedule_step = std::vector<instruction>;

/// What one stage does for one batch of micro-batches, step by step: DeepSpeed's PipeSchedule as data. Steps are
/// computed on demand, nothing is stored, so iterating again gives the same steps and a long schedule costs no memory.
/// Immutable: any number of threads may read one.
class pipe_schedule {
 public:
  /// An input iterator; dereferencing computes the step.
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = schedule_step;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    iterator(const pipe_schedule& schedule, std::uint64_t t) : schedule_(&schedule), t_(t) {}
    schedule_step operator*() const { return schedule_->step(t_); }
    iterator& operator++() {
      ++t_;
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++t_;
      return before;
    }
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    const pipe_schedule* schedule_ = nullptr;
    std::uint64_t t_ = 0;
  };

  /// Counts from 1 and stage_id < stages, as make_schedule checks; anything else aborts.
  pipe_schedule(std::uint64_t micro_batches, std::uint32_t stages, stage_index stage_id);
  pipe_schedule(const pipe_schedule&) = delete;
  pipe_schedule& operator=(const pipe_schedule&) = delete;
  virtual ~pipe_schedule() = default;

  [[nodiscard]] std::uint64_t micro_batches() const noexcept { return micro_batches_; }
  [[nodiscard]] std::uint32_t stages() const noexcept { return stages_; }
  [[nodiscard]] stage_index stage_id() const noexcept { return stage_id_; }
  [[nodiscard]] bool is_first_stage() const noexcept { return stage_id_ == 0; }
  [[nodiscard]] bool is_last_stage() const noexcept { return stage_id_ + 1 == stages_; }

  [[nodiscard]] virtual schedule_kind kind() const noexcept = 0;
  /// Buffers the stage needs; every instruction's buffer is below it.
  [[nodiscard]] virtual std::uint32_t num_pipe_buffers() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t num_steps() const noexcept = 0;
  /// Step t < num_steps().
  [[nodiscard]] virtual schedule_step step(std::uint64_t t) const = 0;

  [[nodiscard]] iterator begin() const { return {*this, 0}; }
  [[nodiscard]] iterator end() const { return {*this, num_steps()}; }

 protected:
  /// The id as an index if it is one of the batch's micro-batches: ids before the first and after the last mean "none".
  [[nodiscard]] bool valid(std::int64_t micro_batch) const noexcept {
    return micro_batch >= 0 && static_cast<std::uint64_t>(micro_batch) < micro_batches_;
  }
  /// Micro-batches go through the buffers in turn.
  [[nodiscard]] std::uint32_t buffer_of(std::int64_t micro_batch) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(micro_batch) % num_pipe_buffers());
  }

 private:
  std::uint64_t micro_batches_;
  std::uint32_t stages_;
  stage_index stage_id_;
};

/// A whole schedule, over all its stages.
struct schedule_shape {
  schedule_kind kind = schedule_kind::inference;
  /// 1 to limits::schedule_cells_max.
  std::uint64_t micro_batches = 1;
  /// 1 to limits::stages_max.
  std::uint32_t stages = 1;
};

/// The schedule of stage `stage_id`; E0103 names the count that is out of range.
expected<std::unique_ptr<pipe_schedule>> make_schedule(const schedule_shape& shape, stage_index stage_id);

/// The schedules of all stages, for printing: as make_schedule, and stages x steps is at most
/// limits::schedule_cells_max.
expected<std::vector<std::unique_ptr<pipe_schedule>>> make_all_schedules(const schedule_shape& shape);

}  // namespace troupe
