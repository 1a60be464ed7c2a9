#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/training_engine_state.hpp"

namespace troupe {

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
  for (;;) {
    TROUPE_TRY(impl_->recover(nullptr));
    auto made = impl_->engine->evaluate(data, hooks);
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
    const auto done = redo(ended);
    if (done || !note_loss(done.error())) return done;
  }
}

/// The stages that start now find only those that were not injected, or that come by lot.
void training_engine::impl::note_faults() {
  run_options& how = engine->impl_->checked.options;
  const std::vector<fault_report> reports = fault_reports_of(*engine->impl_->stages.running);
  fault_plan left;
  for (std::size_t number = 0; number < reports.size(); ++number) {
    const fault& one = how.faults.faults()[number];
    if (reports[number].times > 0) earlier_faults.push_back(reports[number]);
    if (reports[number].times == 0 || one.when.kind == fault_trigger_kind::probability) left.add(one);
  }
  if (!reports.empty()) how.faults = std::move(left);
}

std::vector<fault_report> training_engine::impl::faults() const {
  std::vector<fault_report> all = earlier_faults;
  for (fault_report& each : fault_reports_of(*engine->impl_->stages.running)) {
    const auto before = std::ranges::find(all, each.fault, &fault_report::fault);
    if (before == all.end()) {
      all.push_back(std::move(each));
    } else {
      before->times += each.times;
    }
  }
  return all;
}

/// With what the replicas still have, or else with the copy.
expected<void> training_engine::impl::begin_again() {
  if (losses_in_row > limits::state_losses_max) return tl::make_unexpected(*lost);
  take_copy(true);
  auto left = engine->impl_->config.replicas > 1 ? read_left() : tl::make_unexpected(*lost);
  if (!left && !safe.is_whole()) {
    lost->fix = "load the last checkpoint into a new engine (--resume), with training_options::protect (--protect)";
    return tl::make_unexpected(*lost);
  }
  note_faults();
  TROUPE_TRY(stop_stages());
  if (!left) redone = 0;
  TROUPE_TRY(start_stages(left ? std::make_shared<const training_snapshot>(std::move(*left)) : safe.state(),
                          *engine->impl_->model));
  engine->impl_->caller->put({.level = log_level::warning,
                              .text = lost->where + ": " + lost->cause + "; the training goes on behind step " +
                                      std::to_string(counts.steps) + ", " +
                                      std::to_string(safe.since().size() - redone) + " steps are done again"});
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
