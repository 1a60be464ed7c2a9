#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/training_engine_state.hpp"

namespace troupe {
namespace {

/// Those of the same fault are added up.
void add_reports(std::vector<fault_report>& to, std::vector<fault_report> more) {
  const std::size_t known = to.size();
  for (fault_report& each : more) {
    const auto end = to.begin() + static_cast<std::ptrdiff_t>(known);
    const auto before = std::ranges::find(to.begin(), end, each.fault, &fault_report::fault);
    if (before == end) {
      to.push_back(std::move(each));
    } else {
      before->times += each.times;
    }
  }
}

}  // namespace

bool training_engine::impl::note_loss(const error& cause) {
  if (cause.code != error_code::training_state_lost) return false;
  lost = cause;
  ++losses_in_row;
  return true;
}

bool training_engine::impl::note_loss(const expected<run_result>& of) {
  if (!of) return note_loss(of.error());
  return of->partial && !of->errors.empty() && note_loss(of->errors.front());
}

expected<train_output> training_engine::impl::step(std::shared_ptr<micro_batch_source> from, const end_of_step& ended) {
  const auto batches = std::make_shared<kept_batches>(std::move(from));
  for (;;) {
    TROUPE_TRY(recover(ended));
    auto made = step_once(kept_batches::read(batches), ended);
    if (made) keep(batches);
    if (made || !note_loss(made.error())) return made;
  }
}

expected<training_snapshot> training_engine::impl::snapshot() {
  for (;;) {
    TROUPE_TRY(recover(nullptr));
    auto made = read_states();
    if (made || !note_loss(made.error())) return made;
  }
}

expected<run_result> training_engine::evaluate(const data_choice& data, evaluation_hooks hooks) {
  const auto evaluate_once = [&, told = std::move(hooks)] { return impl_->engine->evaluate(data, told); };
  for (;;) {
    TROUPE_TRY(impl_->recover(nullptr));
    auto made = evaluate_once();
    if (!impl_->note_loss(made)) return made;
  }
}

expected<training_snapshot> training_engine::impl::read_states() {
  take_copy(false);
  auto made =
      TROUPE_TRY(in_own_thread("weights", "the weights could not be read", [&] { return reader->read(decided); }));
  made.counts = counts;
  return made;
}

expected<training_snapshot> training_engine::impl::read_left() {
  take_copy(true);
  auto made =
      TROUPE_TRY(in_own_thread("weights", "the weights could not be read", [&] { return reader->read_left(decided); }));
  made.counts = counts;
  return made;
}

/// The copy is made while the next step is computed, and taken before the one after it.
void training_engine::impl::keep(std::shared_ptr<kept_batches> done) {
  losses_in_row = 0;
  take_copy(false);
  safe.add(std::move(done));
  redone = safe.since().size();
  if (!safe.is_due()) return;
  copying.begin(redone, [this, last = decided, at = counts](const std::stop_token& given_up) {
    auto made = reader->read(last, given_up);
    if (made) made->counts = at;
    return made;
  });
}

/// Where no copy was made, as a state has just been lost, the older one serves: the next step finds that out.
void training_engine::impl::take_copy(bool gives_up) {
  auto copied = copying.take(gives_up);
  if (!copied || !copied->state) return;
  safe.put(std::make_shared<const training_snapshot>(std::move(*copied->state)), copied->steps);
  redone -= std::min(redone, copied->steps);
}

/// States may be lost again meanwhile.
expected<void> training_engine::impl::recover(const end_of_step& ended) {
  for (;;) {
    if (lost) TROUPE_TRY(begin_again());
    auto done = redo(ended);
    if (done || !note_loss(done.error())) return done;
  }
}

/// The stages that start now find only those that were not injected, or that come by lot.
void training_engine::impl::note_faults(std::vector<fault_report> met) {
  run_options& how = engine->impl_->checked.options;
  fault_plan left;
  for (std::size_t number = 0; number < met.size(); ++number) {
    const fault& one = how.faults.faults()[number];
    if (met[number].times == 0 || one.when.kind == fault_trigger_kind::probability) left.add(one);
  }
  if (!met.empty()) how.faults = std::move(left);
  std::erase_if(met, [](const fault_report& each) { return each.times == 0; });
  add_reports(earlier_faults, std::move(met));
}

std::vector<fault_report> training_engine::impl::faults() const {
  std::vector<fault_report> all = earlier_faults;
  if (reader) add_reports(all, fault_reports_of(*engine->impl_->stages.running));
  return all;
}

std::vector<stage_usage> training_engine::impl::usage() const {
  std::vector<stage_usage> all = engine->impl_->stages.running->usage();
  if (!reader) std::ranges::fill(all, stage_usage{});
  for (std::size_t stage = 0; stage < earlier_usage.size(); ++stage) {
    const stage_usage& before = earlier_usage[stage];
    all[stage].micro_batches += before.micro_batches;
    all[stage].samples += before.samples;
    all[stage].forward_ns += before.forward_ns;
    all[stage].busy_ns += before.busy_ns;
  }
  return all;
}

/// With what the replicas still have, or else with the copy. Without a reader, a start after the loss has failed, and
/// no stages run that could have anything.
expected<void> training_engine::impl::begin_again() {
  if (losses_in_row > limits::state_losses_max) return tl::make_unexpected(*lost);
  take_copy(true);
  auto left = reader && engine->impl_->config.replicas > 1 ? read_left() : tl::make_unexpected(*lost);
  if (left) {
    safe.put(std::make_shared<const training_snapshot>(std::move(*left)), std::exchange(redone, 0));
  } else if (!safe.is_whole()) {
    lost->fix = "load the last checkpoint into a new engine (--resume), with training_options::protect (--protect)";
    return tl::make_unexpected(*lost);
  }
  std::vector<fault_report> met;
  std::vector<stage_usage> used = earlier_usage;
  if (reader) {
    met = fault_reports_of(*engine->impl_->stages.running);
    used = usage();
  }
  TROUPE_TRY(stop_stages());
  note_faults(std::move(met));
  earlier_usage = std::move(used);
  redone = 0;
  TROUPE_TRY(start_stages(safe.state(), *engine->impl_->model));
  engine->impl_->caller->put({.level = log_level::warning,
                              .text = lost->where + ": " + lost->cause + "; the training goes on behind step " +
                                      std::to_string(counts.steps) + ", " + std::to_string(safe.since().size()) +
                                      " steps are done again"});
  lost.reset();
  return {};
}

expected<void> training_engine::impl::redo(const end_of_step& ended) {
  for (; redone < safe.since().size(); ++redone) {
    TROUPE_TRY(step_once(kept_batches::read(safe.since()[redone]), ended));
  }
  return {};
}

}  // namespace troupe
