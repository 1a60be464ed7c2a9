#include "testing/trace_checker.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

constexpr std::array<std::string_view, trace_rules> rule_names{
    "place exists",
    "belongs to the schedule",
    "micro-batch exists",
    "in id order",
    "one replica",
    "receive after send",
    "take after forward",
    "forward after take",
    "forward after send",
    "send after forward",
    "buffers in turn",
    "buffer is free",
    "live within pipe buffers",
    "complete",
};

tl::unexpected<error> broken(trace_rule rule, stage_address where, micro_batch_id id, std::string_view detail) {
  return fail(error_code::internal,
              fmt::format("trace, stage {}, replica {}, {}", where.stage, where.replica, to_string(id)),
              fmt::format("rule '{}' is broken: {}", trace_rule_name(rule), detail),
              "report it with the trace; the engine or the recording is wrong");
}

tl::unexpected<error> broken(trace_rule rule, const trace_event& event, std::string_view detail) {
  return broken(rule, event.where, event.id, fmt::format("{}: {}", to_string(event), detail));
}

/// One engine as far as the trace has come. Micro-batches pass in one order, so counts say which of them is where:
/// ended <= forwarded <= taken.size().
struct engine_state {
  std::vector<micro_batch_id> taken;
  std::size_t forwarded = 0;
  std::size_t sent = 0;

  /// How many are through: the last stage's end with their forward.
  [[nodiscard]] std::size_t ended(bool is_last) const { return is_last ? forwarded : sent; }
};

class checker {
 public:
  explicit checker(const traced_run& run) : run_(run), engines_(std::size_t{run.stages} * run.replicas) {
    TROUPE_CHECK(run.stages >= 1 && run.replicas >= 1, "a run has at least one engine");
    TROUPE_CHECK(run.num_pipe_buffers.size() == 1 || run.num_pipe_buffers.size() == run.stages,
                 "one number, or one per stage");
    TROUPE_CHECK(std::count(run.num_pipe_buffers.begin(), run.num_pipe_buffers.end(), 0u) == 0, "a stage has a buffer");
  }

  expected<void> check(const trace_event& event) {
    if (event.where.stage >= run_.stages || event.where.replica >= run_.replicas) {
      return broken(trace_rule::place_exists, event, "there is no such engine");
    }
    if (last_order_ && *last_order_ == event.order) {
      return broken(trace_rule::place_exists, event, "another event has this number");
    }
    last_order_ = event.order;
    if (event.id.call >= run_.micro_batches.size() || event.id.index >= run_.micro_batches[event.id.call]) {
      return broken(trace_rule::micro_batch_exists, event, "no call of the run has this micro-batch");
    }
    switch (event.what) {
      case instruction_kind::load_micro_batch:
        return event.where.stage == 0 ? take(event) : foreign(event);
      case instruction_kind::recv_activation:
        return event.where.stage > 0 ? take(event) : foreign(event);
      case instruction_kind::forward_pass:
        return forward(event);
      case instruction_kind::send_activation:
        return is_last(event.where) ? foreign(event) : send(event);
      default:
        return foreign(event);
    }
  }

  expected<void> check_end() const {
    for (std::uint32_t s = 0; s < run_.stages; ++s) {
      for (std::uint32_t r = 0; r < run_.replicas; ++r) {
        if (auto ok = check_drained({s, r}); !ok) {
          return ok;
        }
      }
    }
    for (call_number call = 0; call < run_.micro_batches.size(); ++call) {
      for (std::uint64_t index = 0; index < run_.micro_batches[call]; ++index) {
        if (!owner_.contains({call, index})) {
          return fail(error_code::internal, fmt::format("trace, {}", to_string(micro_batch_id{call, index})),
                      fmt::format("rule '{}' is broken: no replica executed it", trace_rule_name(trace_rule::complete)),
                      "report it with the trace; the engine or the recording is wrong");
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] bool is_last(stage_address a) const { return a.stage + 1 == run_.stages; }
  [[nodiscard]] std::size_t buffers(stage_address a) const {
    return run_.num_pipe_buffers[run_.num_pipe_buffers.size() == 1 ? 0 : a.stage];
  }
  [[nodiscard]] std::size_t position(stage_address a) const { return std::size_t{a.stage} * run_.replicas + a.replica; }
  engine_state& engine(stage_address a) { return engines_[position(a)]; }
  [[nodiscard]] const engine_state& engine(stage_address a) const { return engines_[position(a)]; }

  static expected<void> foreign(const trace_event& event) {
    return broken(trace_rule::belongs_to_schedule, event,
                  "InferenceSchedule does not give this stage that instruction");
  }

  expected<void> take(const trace_event& event) {
    engine_state& e = engine(event.where);
    const std::size_t k = e.taken.size();
    if (k > 0 && event.id <= e.taken.back()) {
      return broken(trace_rule::in_id_order, event, fmt::format("{} was taken before", to_string(e.taken.back())));
    }
    if (auto ok = check_origin(event, k); !ok) {
      return ok;
    }
    if (e.forwarded < k) {
      return broken(trace_rule::take_after_forward, event,
                    fmt::format("{} is not computed yet", to_string(e.taken.back())));
    }
    if (event.buffer != k % buffers(event.where)) {
      return broken(trace_rule::buffers_in_turn, event,
                    fmt::format("in buffer {}, expected {}", event.buffer, k % buffers(event.where)));
    }
    if (k - e.ended(is_last(event.where)) >= buffers(event.where)) {
      return broken(trace_rule::buffer_is_free, event, fmt::format("buffer {} is still in use", event.buffer));
    }
    e.taken.push_back(event.id);
    return {};
  }

  /// The k-th take of a stage: from the loader, or what the stage before sent k-th.
  expected<void> check_origin(const trace_event& event, std::size_t k) {
    const auto owner = owner_.find(event.id);
    if (owner != owner_.end() && owner->second != event.where.replica) {
      return broken(trace_rule::one_replica, event, fmt::format("replica {} executes it", owner->second));
    }
    if (event.where.stage == 0) {
      owner_.emplace(event.id, event.where.replica);
      return {};
    }
    const engine_state& upstream = engine({event.where.stage - 1, event.where.replica});
    if (k >= upstream.sent || upstream.taken[k] != event.id) {
      return broken(trace_rule::receive_after_send, event, "the stage before has not sent it as its next");
    }
    return {};
  }

  /// F and S name the buffer of the take.
  expected<void> check_buffer(const trace_event& event, std::size_t k) const {
    if (event.buffer == k % buffers(event.where)) {
      return {};
    }
    return broken(trace_rule::buffers_in_turn, event,
                  fmt::format("in buffer {}, taken into {}", event.buffer, k % buffers(event.where)));
  }

  expected<void> forward(const trace_event& event) {
    engine_state& e = engine(event.where);
    const std::size_t k = e.forwarded;
    if (k >= e.taken.size() || e.taken[k] != event.id) {
      return broken(trace_rule::forward_after_take, event, "it is not the next that was taken");
    }
    if (!is_last(event.where) && e.sent < k) {
      return broken(trace_rule::forward_after_send, event,
                    fmt::format("{} is not sent yet", to_string(e.taken[e.sent])));
    }
    if (auto ok = check_buffer(event, k); !ok) {
      return ok;
    }
    ++e.forwarded;
    return {};
  }

  expected<void> send(const trace_event& event) {
    engine_state& e = engine(event.where);
    const std::size_t k = e.sent;
    if (k >= e.forwarded || e.taken[k] != event.id) {
      return broken(trace_rule::send_after_forward, event, "it is not the next that was computed");
    }
    if (auto ok = check_buffer(event, k); !ok) {
      return ok;
    }
    ++e.sent;
    const stage_address next{event.where.stage + 1, event.where.replica};
    const std::size_t live = e.sent - engine(next).ended(is_last(next));
    if (live > buffers(next)) {
      return broken(trace_rule::live_within_pipe_buffers, event,
                    fmt::format("{} are live in stage {}, which has {} buffers", live, next.stage, buffers(next)));
    }
    return {};
  }

  expected<void> check_drained(stage_address a) const {
    const engine_state& e = engine(a);
    if (e.ended(is_last(a)) < e.taken.size()) {
      const std::string_view missing = e.forwarded < e.taken.size() ? "ForwardPass" : "SendActivation";
      return broken(trace_rule::complete, a, e.taken[e.ended(is_last(a))], fmt::format("its {} is missing", missing));
    }
    const bool lost = !is_last(a) && engine({a.stage + 1, a.replica}).taken.size() < e.sent;
    if (lost) {
      const stage_address next{a.stage + 1, a.replica};
      return broken(trace_rule::complete, next, e.taken[engine(next).taken.size()], "it was sent and never received");
    }
    return {};
  }

  const traced_run& run_;
  std::vector<engine_state> engines_;
  std::map<micro_batch_id, replica_index> owner_;
  std::optional<std::uint64_t> last_order_;
};

}  // namespace

std::string_view trace_rule_name(trace_rule rule) {
  const auto index = static_cast<std::size_t>(rule);
  TROUPE_CHECK(index < rule_names.size(), "every rule has a name");
  return rule_names[index];
}

expected<void> check_trace(const traced_run& run, std::span<const trace_event> events) {
  std::vector<trace_event> sorted(events.begin(), events.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
  checker state(run);
  for (const trace_event& event : sorted) {
    if (auto ok = state.check(event); !ok) {
      return ok;
    }
  }
  return state.check_end();
}

}  // namespace troupe
