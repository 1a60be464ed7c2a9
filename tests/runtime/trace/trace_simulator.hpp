#pragma once

#include <random>
#include <vector>

#include "runtime/trace/trace_recorder.hpp"
#include "testing/trace_checker.hpp"

namespace troupe::testing {

/// A model of a run that shares no code with the engines: every engine is a loop of micro-steps (see a credit, draw,
/// publish, release, ...) and a seeded choice says whose micro-step is next, so that numbers and what they stand for
/// drift apart as far as threads could make them.
class trace_simulator {
 public:
  trace_simulator(traced_run run, std::uint64_t seed) : run_(std::move(run)), random_(seed) {
    for (stage_index s = 0; s < run_.stages; ++s) {
      for (replica_index r = 0; r < run_.replicas; ++r) engines_.emplace_back(clock_, stage_address{s, r});
    }
    for (call_number c = 0; c < run_.micro_batches.size(); ++c) {
      for (std::uint64_t i = 0; i < run_.micro_batches[c]; ++i) unassigned_.push_back({c, i});
    }
  }

  /// With `wrong_draw`, a send draws before it looks for credit: the mistake that trace_recorder warns of.
  std::vector<trace_event> run(bool wrong_draw = false) {
    wrong_draw_ = wrong_draw;
    while (!finished()) step(engines_[random_() % engines_.size()]);
    std::vector<const trace_recorder*> recorders;
    for (const engine& e : engines_) recorders.push_back(&e.recorder);
    return *gather_trace(recorders);
  }

 private:
  enum class at { take, drawn_take, compute, find_credit, publish, release };

  struct engine {
    engine(trace_clock& clock, stage_address a) : recorder(clock, a) {}
    trace_recorder recorder;
    std::vector<micro_batch_id> inbox;
    std::size_t received = 0;
    /// Slots of the inbound edge that are not free: published and not released.
    std::size_t in_use = 0;
    at state = at::take;
    micro_batch_id current;
    std::size_t count = 0;
    std::uint64_t drawn = 0;
    bool has_drawn = false;
  };

  bool finished() const {
    std::size_t done = 0, all = 0;
    for (const engine& e : engines_) {
      if (e.recorder.where().stage + 1 == run_.stages && e.state == at::take) done += e.count;
    }
    for (const auto n : run_.micro_batches) all += n;
    return done == all;
  }

  std::uint32_t buffers(const engine& e) const {
    return run_.num_pipe_buffers[run_.num_pipe_buffers.size() == 1 ? 0 : e.recorder.where().stage];
  }
  engine& downstream(const engine& e) {
    return engines_[(e.recorder.where().stage + 1) * run_.replicas + e.recorder.where().replica];
  }
  bool is_last(const engine& e) const { return e.recorder.where().stage + 1 == run_.stages; }
  std::uint32_t buffer(const engine& e) const { return static_cast<std::uint32_t>((e.count - 1) % buffers(e)); }

  bool take(engine& e) {
    if (e.recorder.where().stage == 0) {
      if (next_unassigned_ == unassigned_.size()) return false;
      e.current = unassigned_[next_unassigned_++];
      return true;
    }
    if (e.received == e.inbox.size()) return false;
    e.current = e.inbox[e.received++];
    return true;
  }

  void step(engine& e) {
    const bool first = e.recorder.where().stage == 0;
    switch (e.state) {
      case at::take:
        if (take(e)) e.state = at::drawn_take;
        break;
      case at::drawn_take:
        ++e.count;
        e.recorder.record(first ? instruction_kind::load_micro_batch : instruction_kind::recv_activation, e.current,
                          buffer(e));
        e.state = at::compute;
        break;
      case at::compute:
        e.recorder.record(instruction_kind::forward_pass, e.current, buffer(e));
        e.state = is_last(e) ? at::release : at::find_credit;
        break;
      case at::find_credit: {
        if (wrong_draw_ && !e.has_drawn) {
          e.drawn = e.recorder.draw();
          e.has_drawn = true;
          break;
        }
        engine& next = downstream(e);
        if (next.in_use == buffers(next)) break;
        if (!wrong_draw_) e.drawn = e.recorder.draw();
        e.state = at::publish;
        break;
      }
      case at::publish:
        ++downstream(e).in_use;
        downstream(e).inbox.push_back(e.current);
        e.recorder.record_at(e.drawn, instruction_kind::send_activation, e.current, buffer(e));
        e.has_drawn = false;
        e.state = at::release;
        break;
      case at::release:
        if (!first) --e.in_use;
        e.state = at::take;
        break;
    }
  }

  traced_run run_;
  std::mt19937_64 random_;
  trace_clock clock_;
  std::vector<engine> engines_;
  std::vector<micro_batch_id> unassigned_;
  std::size_t next_unassigned_ = 0;
  bool wrong_draw_ = false;
};

/// A run of random shape.
inline traced_run random_run(std::mt19937_64& random) {
  traced_run run;
  run.stages = static_cast<std::uint32_t>(1 + random() % 5);
  run.replicas = static_cast<std::uint32_t>(1 + random() % 3);
  run.num_pipe_buffers.assign(random() % 2 == 0 ? 1 : run.stages, 1);
  for (auto& n : run.num_pipe_buffers) n = static_cast<std::uint32_t>(1 + random() % 4);
  for (std::size_t calls = 1 + random() % 3; calls > 0; --calls) run.micro_batches.push_back(random() % 12);
  run.micro_batches.front() += 2;
  return run;
}

}  // namespace troupe::testing
