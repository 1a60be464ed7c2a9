#include "runtime/inject/faulty_body.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/fault/fault_draw.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

/// A status that no other end of a worker has.
constexpr int status_of_exit = 99;

/// Between fork and its end the child calls signal-safe functions alone. Who kills the frozen process kills its group,
/// and so the child.
pid_t thaw_from_outside(std::chrono::nanoseconds after) {
  const pid_t frozen = ::getpid();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(after);
  timespec left{.tv_sec = seconds.count(), .tv_nsec = (after - seconds).count()};
  const pid_t child = ::fork();
  if (child != 0) return child;
  while (::nanosleep(&left, &left) != 0) {
  }
  ::kill(frozen, SIGCONT);
  ::_exit(0);
}

/// More than any machine has, unless the plan says how much; what can be had after all is as good as not.
[[noreturn]] void fail_to_allocate(std::optional<std::uint64_t> bytes) {
  const std::size_t size = bytes.value_or(std::numeric_limits<std::ptrdiff_t>::max() / 2);
  void* const got = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) ::munmap(got, size);
  throw std::bad_alloc();
}

}  // namespace

fatal_acts fatal_acts::of_this_process() {
  return {.kill = [] { ::kill(::getpid(), SIGKILL); },
          .freeze =
              [](std::optional<std::chrono::nanoseconds> lasts) {
                const pid_t helper = lasts ? thaw_from_outside(*lasts) : 0;
                if (helper < 0) return;  // for ever would be another fault
                ::kill(::getpid(), SIGSTOP);
                if (helper > 0) ::waitpid(helper, nullptr, 0);
              },
          .leave = [] { ::_exit(status_of_exit); }};
}

body_faults::body_faults(std::vector<numbered_fault> faults, std::uint64_t lot, injected_function on_injected,
                         fatal_acts acts)
    : faults_(std::move(faults)), lot_(lot), on_injected_(std::move(on_injected)), acts_(std::move(acts)) {}

void body_faults::meet(micro_batch_id at, std::optional<std::uint64_t> step) {
  if (std::exchange(seen_, at) == at) return;
  for (const numbered_fault& each : faults_) {
    if (is_due(each, at, step)) inject(each, at);
  }
}

void body_faults::meet(fault_trigger_kind moment, micro_batch_id at, std::uint64_t step) {
  for (const numbered_fault& each : faults_) {
    const fault_trigger& when = each.what.when;
    const bool is_other_pass = moment == fault_trigger_kind::backward && when.number != at.index;
    if (when.kind != moment || is_other_pass || when.step.value_or(step) != step) continue;
    if (on_injected_(each.number, true, at)) inject(each, at);
  }
}

void body_faults::meet_within(micro_batch_id at, std::uint64_t step, std::chrono::nanoseconds usual_time,
                              const std::function<void()>& work) {
  using clock = std::chrono::steady_clock;
  const auto found = std::ranges::find_if(faults_, [&](const numbered_fault& each) {
    const fault_trigger& when = each.what.when;
    return when.kind == fault_trigger_kind::apply && when.step.value_or(step) == step &&
           on_injected_(each.number, true, at);
  });
  if (found == faults_.end()) return work();
  const auto share = draw_for(found->what.when.seed + lot_, step, found->number).share();
  const auto delay = std::chrono::duration_cast<std::chrono::nanoseconds>(share * usual_time);
  std::atomic<bool> has_begun = false;
  std::atomic<bool> has_ended = false;
  auto striker = start_thread("fault", [&] {
    while (!has_begun) std::this_thread::yield();
    for (const auto until = clock::now() + delay; clock::now() < until && !has_ended;) {
    }
    inject(*found, at);
  });
  if (!striker) {
    inject(*found, at);
    return work();
  }
  has_begun = true;
  work();
  has_ended = true;
  striker->join();
}

bool body_faults::is_due(const numbered_fault& one, micro_batch_id at, std::optional<std::uint64_t> step) {
  const fault_trigger& when = one.what.when;
  switch (when.kind) {
    case fault_trigger_kind::always:
      break;
    case fault_trigger_kind::micro_batch:
      if (at.index != when.number || (when.step && when.step != step)) return false;
      break;
    case fault_trigger_kind::probability:
      if (draw_for(when.seed + lot_, (at.call << 40U) ^ at.index, one.number).share() >= when.probability) return false;
      break;
    default:
      return false;  // injected by others
  }
  return on_injected_(one.number, when.kind == fault_trigger_kind::micro_batch, at);
}

void body_faults::inject(const numbered_fault& one, micro_batch_id at) {
  switch (one.what.kind) {
    case fault_kind::kill:
      return acts_.kill();
    case fault_kind::stop:
      return acts_.freeze(one.what.lasts);
    case fault_kind::exit:
      return acts_.leave();
    case fault_kind::slow:
      return std::this_thread::sleep_for(
          lateness_of(one.what, draw_for(one.what.when.seed, at.call, at.index).share()));
    case fault_kind::out_of_memory:
      return fail_to_allocate(one.what.bytes);
    case fault_kind::throw_error:
      throw std::runtime_error("injected: " + to_string(one.what));
    default:
      return;
  }
}

// --- a stage that trains ---------------------------------------------------------------------------------------------

void faulty_training_body::on_start() {
  inner_->on_start();
  if (faults_.are_of_successor()) faults_.meet(fault_trigger_kind::recovery, {}, steps());
}

expected<void> faulty_training_body::forward(const activation& input, activation& output) {
  in_step_ = input.id;
  faults_.meet(input.id, steps());
  return inner_->forward(input, output);
}

expected<void> faulty_training_body::evaluate(const activation& input, activation& output) {
  faults_.meet(input.id);
  return inner_->evaluate(input, output);
}

expected<payload_ptr> faulty_training_body::backward(micro_batch_id id, const payload_ptr& gradient) {
  faults_.meet(fault_trigger_kind::backward, id, steps());
  return inner_->backward(id, gradient);
}

expected<void> faulty_training_body::finish(call_number call, std::span<const payload_ptr> sums,
                                            std::span<const payload_ptr> tied, step_vote& into) {
  TROUPE_TRY(inner_->finish(call, sums, tied, into));
  faults_.meet(fault_trigger_kind::vote, {call, 0}, steps());
  return {};
}

expected<void> faulty_training_body::apply(const step_decision& decision) {
  const micro_batch_id at{decision.call, 0};
  faults_.meet(fault_trigger_kind::decision, at, decision.step);
  in_step_.reset();
  expected<void> applied;
  faults_.meet_within(at, decision.step, time_of_apply_, [&] {
    const auto begin = std::chrono::steady_clock::now();
    applied = inner_->apply(decision);
    time_of_apply_ = std::chrono::steady_clock::now() - begin;
  });
  return applied;
}

void faulty_training_body::drop() noexcept {
  if (const auto of = std::exchange(in_step_, std::nullopt)) faults_.meet(fault_trigger_kind::recovery, *of, steps());
  inner_->drop();
}

}  // namespace troupe
