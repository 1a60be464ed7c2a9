// Goal: schedules can be executed. Method: run all stages with blocking (rendezvous) transfers and a barrier between
// steps, on buffers that know what they hold: nothing deadlocks, nothing unread is overwritten, every micro-batch
// passes every stage.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/schedule/pipe_schedule.hpp"

namespace troupe {
namespace {

using enum instruction_kind;

/// Empty, or the micro-batch whose data it holds.
using content = std::optional<std::uint64_t>;

struct buffer_state {
  content loaded, activation_in, activation_out, grad_in, grad_out;
};

struct stage_state {
  std::unique_ptr<pipe_schedule> schedule;
  std::vector<buffer_state> buffers;
  schedule_step todo;
  std::size_t next = 0;
  std::uint64_t loads = 0;
  std::uint64_t forwards = 0;
  std::uint64_t backwards = 0;
  bool stepped = false;

  [[nodiscard]] bool done() const { return next == todo.size(); }
  [[nodiscard]] const instruction& head() const { return todo[next]; }
};

class executor {
 public:
  explicit executor(const schedule_shape& shape) : train_(shape.kind == schedule_kind::train) {
    auto schedules = make_all_schedules(shape);
    for (auto& schedule : *schedules) {
      stage_state s;
      s.buffers.resize(schedule->num_pipe_buffers());
      s.schedule = std::move(schedule);
      stages_.push_back(std::move(s));
    }
  }

  std::string run() {
    for (std::uint64_t t = 0; t < stages_.front().schedule->num_steps() && fault_.empty(); ++t) {
      run_step(t);
    }
    for (const stage_state& s : stages_) {
      check(s.forwards == s.schedule->micro_batches(), "a forward is missing");
      check(!train_ || (s.backwards == s.schedule->micro_batches() && s.stepped),
            "a backward or the optimizer is missing");
      for (const buffer_state& b : s.buffers) {
        check(!b.loaded && !b.activation_in && !b.activation_out && !b.grad_in && !b.grad_out, "left over");
      }
    }
    return fault_;
  }

 private:
  void check(bool good, const char* what) {
    if (!good && fault_.empty()) fault_ = what;
  }
  void put(content& where, std::uint64_t m) {
    check(!where.has_value(), "overwrites what was not read");
    where = m;
  }
  std::uint64_t take(content& where) {
    check(where.has_value(), "reads an empty buffer");
    const std::uint64_t m = where.value_or(~std::uint64_t{0});
    where.reset();
    return m;
  }

  void run_step(std::uint64_t t) {
    for (stage_state& s : stages_) {
      s.todo = s.schedule->step(t);
      s.next = 0;
    }
    bool moved = true;
    while (moved && fault_.empty()) {
      moved = false;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        moved = advance(s) || moved;
      }
    }
    for (const stage_state& s : stages_) {
      check(s.done(), "deadlock inside a step");
    }
  }

  bool transfer(std::size_t from, std::size_t to, instruction_kind send, instruction_kind recv) {
    if (to >= stages_.size()) {
      check(false, "sends off the pipe");
      return false;
    }
    stage_state& a = stages_[from];
    stage_state& b = stages_[to];
    if (a.done() || b.done() || a.head().kind != send || b.head().kind != recv) return false;
    buffer_state& source = a.buffers.at(a.head().buffer);
    buffer_state& target = b.buffers.at(b.head().buffer);
    if (send == send_activation) {
      put(target.activation_in, take(source.activation_out));
    } else {
      put(target.grad_in, take(source.grad_out));
    }
    ++a.next;
    ++b.next;
    return true;
  }

  bool advance(std::size_t index) {
    stage_state& s = stages_[index];
    if (s.done()) return false;
    switch (s.head().kind) {
      case send_activation:
        return transfer(index, index + 1, send_activation, recv_activation);
      case send_grad:
        return transfer(index, index - 1, send_grad, recv_grad);
      case recv_activation:
      case recv_grad:
        return false;  // the sender moves both
      default:
        compute(s);
        ++s.next;
        return true;
    }
  }

  void compute(stage_state& s) {
    buffer_state& b = s.buffers.at(s.head().buffer);
    const bool first = s.schedule->is_first_stage();
    const bool last = s.schedule->is_last_stage();
    if (s.head().kind == load_micro_batch) {
      put(b.loaded, s.loads++);
    } else if (s.head().kind == forward_pass) {
      // Training needs the inputs again for the backward pass.
      const content input = first ? b.loaded : b.activation_in;
      check(input == s.forwards, "forward of the wrong micro-batch");
      check(!(first || last) || b.loaded == s.forwards, "the loaded part belongs to another micro-batch");
      if (!last) put(b.activation_out, s.forwards);
      ++s.forwards;
      if (!train_) b.loaded = b.activation_in = std::nullopt;
    } else if (s.head().kind == backward_pass) {
      check((first ? b.loaded : b.activation_in) == s.backwards, "the input of this backward is gone");
      check(!b.activation_out, "backward before the output was sent");
      if (!last) check(take(b.grad_in) == s.backwards, "gradient of the wrong micro-batch");
      b.loaded = b.activation_in = std::nullopt;
      if (!first) put(b.grad_out, s.backwards);
      ++s.backwards;
    } else if (s.head().kind == optimizer_step) {
      check(s.backwards == s.schedule->micro_batches(), "optimizer before the last backward");
      s.stepped = true;
    }
  }

  bool train_;
  std::vector<stage_state> stages_;
  std::string fault_;
};

class schedule_execution : public ::testing::TestWithParam<schedule_kind> {};

TEST_P(schedule_execution, never_deadlocks_and_loses_nothing) {
  for (std::uint64_t m = 1; m <= 32; ++m) {
    for (std::uint32_t stages = 1; stages <= 32; ++stages) {
      ASSERT_EQ(executor({GetParam(), m, stages}).run(), "") << m << " micro-batches, " << stages << " stages";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(pipelines, schedule_execution,
                         ::testing::Values(schedule_kind::inference, schedule_kind::train));

}  // namespace
}  // namespace troupe
