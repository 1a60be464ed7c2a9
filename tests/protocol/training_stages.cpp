#include <algorithm>

#include "tests/protocol/training_model.hpp"

// What the loader and the stages do.
namespace troupe::testing {

void training_model::load(const place& at) const {
  const std::uint8_t id = at.from.loader_next;
  if (id >= options_.steps * options_.micro_batches) return;
  const bool is_early = is(training_mutant::mark_before_decision) && at.from.decided < options_.steps &&
                        at.from.folded == (1u << options_.micro_batches) - 1;
  const unsigned mark = (at.from.decided + (is_early ? 1u : 0u)) * options_.micro_batches;
  if (id >= mark + options_.window) return;
  const auto to = static_cast<std::uint8_t>(id % options_.micro_batches % options_.replicas);
  if (!at.from.copies[to].is_alive || !has_room(at.from, at.from.epoch, to)) return;
  training_moment next = at.from;
  ++next.loader_next;
  next.edges[next.epoch % 2].activations[to].push(id);
  add(at, next, training_action::load, to, id);
}

void training_model::work(const place& at, std::uint8_t copy) const {
  const stage_copy& one = at.from.copies[copy];
  if (!one.is_alive) return;
  if (one.is_torn) {
    // The engine's thread is in the middle of writing, and takes no command.
    training_moment next = at.from;
    next.copies[copy].is_torn = 0;
    next.copies[copy].finished = static_cast<std::uint8_t>(one.version + 1);
    return vote({next, at.into}, copy);
  }
  if (one.is_told) apply(at, copy);
  if (one.epoch != at.from.epoch) begin_anew(at, copy);
  if (at.from.epoch - one.epoch > 1) return;
  drop(at, copy);
  if (one.version == options_.steps) return;
  if (one.has_voted) return early_forward(at, copy);
  if (one.forwards < share_of(copy) || one.backwards < one.forwards) {
    is_due_forward(one, copy) ? forward(at, copy) : backward(at, copy);
  } else {
    finish(at, copy);
  }
}

/// The local rule: forward passes while fewer than live_max() are live and the step has more.
bool training_model::is_due_forward(const stage_copy& one, std::uint8_t copy) const {
  return one.forwards < share_of(copy) && one.forwards - one.backwards < live_max(copy);
}

/// What comes of a step that is carried out here is a replay of others that have not.
void training_model::drop(const place& at, std::uint8_t copy) const {
  if (is(training_mutant::replays_are_kept)) return;
  const stage_copy& one = at.from.copies[copy];
  training_moment next = at.from;
  edge_set& edges = *edges_of(next, copy);
  for (id_queue* queue : {&edges.activations[copy], &edges.gradients[copy]}) {
    if (queue->count == 0 || step_of(queue->head()) >= one.version) continue;
    const std::uint8_t id = queue->head();
    queue->pop();
    return add(at, next, training_action::drop, copy, id);
  }
  if (is(training_mutant::sums_have_no_step)) return;
  stage_copy& receiver = next.copies[copy];
  auto& tied = receiver.tied[one.epoch % 2];
  for (std::uint8_t* sum : {&receiver.sums[one.epoch % 2], &tied[0], &tied[1]}) {
    if (*sum == 0 || *sum > one.version) continue;
    const auto step = static_cast<std::uint8_t>(*sum - 1);
    *sum = 0;
    return add(at, next, training_action::drop, copy, step);
  }
}

void training_model::forward(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  stage_copy& one = next.copies[copy];
  edge_set& edges = *edges_of(next, copy);
  id_queue& inputs = edges.activations[copy];
  const std::uint8_t id = id_of(copy, one.version, one.forwards);
  if (inputs.count == 0 || inputs.head() != id) return;
  const auto to = static_cast<std::uint8_t>(copy + options_.replicas);
  if (!is_last(copy) && !has_room(at.from, one.epoch, to)) return;
  inputs.pop();
  if (!is_last(copy) && next.copies[to].is_alive) edges.activations[to].push(id);
  if (is_last(copy) && one.version == next.decided) {
    next.folded |= static_cast<std::uint8_t>(1u << id % options_.micro_batches);
  }
  if (one.forwards == one.backwards) one.live_version = one.version;
  ++one.forwards;
  add(at, next, training_action::forward, copy, id);
}

void training_model::early_forward(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  id_queue& inputs = edges_of(next, copy)->activations[copy];
  if (!is(training_mutant::forward_before_decision) || inputs.count == 0) return;
  const std::uint8_t id = inputs.head();
  if (step_of(id) <= next.copies[copy].version) return;
  add(at, next, training_action::forward, copy, id, training_violation::early_forward);
}

void training_model::backward(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  const stage_copy& one = next.copies[copy];
  edge_set& edges = *edges_of(next, copy);
  const std::uint8_t id = id_of(copy, one.version, one.backwards);
  if (!is_last(copy)) {
    id_queue& gradients = edges.gradients[copy];
    if (gradients.count == 0 || gradients.head() != id) return;
    gradients.pop();
  }
  training_violation broken = training_violation::none;
  if (stage_of(copy) > 0) {
    auto lane = lane_of(copy);
    if (is(training_mutant::gradient_to_neighbour)) lane = static_cast<std::uint8_t>((lane + 1) % options_.replicas);
    const auto to = static_cast<std::uint8_t>((stage_of(copy) - 1) * options_.replicas + lane);
    id_queue& out = edges.gradients[to];
    if (next.copies[to].is_alive && out.count >= options_.gradient_slots) return;
    if (next.copies[to].is_alive) out.push(id);
    if (id % options_.micro_batches % options_.replicas != lane) broken = training_violation::other_replica;
  }
  add_gradient(next, copy, broken);
  add(at, next, training_action::backward, copy, id, broken);
}

void training_model::add_gradient(training_moment& next, std::uint8_t copy, training_violation& broken) const {
  stage_copy& one = next.copies[copy];
  if (one.live_version != one.version) broken = training_violation::other_weights;
  const auto bit = static_cast<std::uint8_t>(1u << one.backwards);
  if ((one.added & bit) != 0) broken = training_violation::added_twice;
  one.added |= bit;
  ++one.backwards;
  if (one.backwards == one.forwards) one.live_version = 0;
}

bool training_model::has_ties(std::uint8_t copy) const noexcept {
  return options_.is_tied && (stage_of(copy) == 0 || is_last(copy));
}

/// To each replica of the tied stage on its own, as there is room. False where all have been sent.
bool training_model::send_tied(const place& at, std::uint8_t copy) const {
  const stage_copy& one = at.from.copies[copy];
  const std::size_t set = one.epoch % 2;
  const auto all = static_cast<std::uint8_t>((1u << options_.replicas) - 1);
  if (!has_ties(copy) || one.has_sent_tied == all) return false;
  const auto other = static_cast<std::uint8_t>(is_last(copy) ? 0 : (options_.stages - 1) * options_.replicas);
  const auto& here = one.tied[set];
  const bool waits = is(training_mutant::tied_sums_come_in_turn) && here[0] == 0;
  for (std::uint8_t lane = 0; lane < options_.replicas && !waits; ++lane) {
    const auto bit = static_cast<std::uint8_t>(1u << lane);
    training_moment next = at.from;
    stage_copy& to = next.copies[other + lane];
    std::uint8_t& slot = to.tied[set][lane_of(copy)];
    if ((one.has_sent_tied & bit) != 0 || (to.is_alive && slot != 0)) continue;
    next.copies[copy].has_sent_tied |= bit;
    if (to.is_alive) slot = static_cast<std::uint8_t>(one.version + 1);
    add(at, next, training_action::send_sum, copy, one.version);
  }
  return true;
}

/// False where one has not come.
bool training_model::take_tied(stage_copy& one, training_violation& broken) const {
  auto& here = one.tied[one.epoch % 2];
  for (std::uint8_t lane = 0; lane < options_.replicas; ++lane) {
    if (here[lane] == one.version + 1) {
      here[lane] = 0;
    } else if (is(training_mutant::tied_sum_is_left_out)) {
      broken = training_violation::missing_sum;
    } else if (here[lane] != 0 && is(training_mutant::sums_have_no_step)) {
      broken = training_violation::other_sum;
    } else {
      return false;
    }
  }
  return true;
}

/// The sums of the replicas are exchanged; then the gradient is written, and the stage votes.
void training_model::finish(const place& at, std::uint8_t copy) const {
  const stage_copy& one = at.from.copies[copy];
  const std::size_t set = one.epoch % 2;
  training_moment next = at.from;
  if (send_tied(at, copy)) return;
  if (options_.replicas > 1 && !one.has_sent_sum) {
    const auto peer = static_cast<std::uint8_t>(copy ^ 1u);
    if (next.copies[peer].is_alive && next.copies[peer].sums[set] != 0) return;
    next.copies[copy].has_sent_sum = 1;
    if (next.copies[peer].is_alive) next.copies[peer].sums[set] = static_cast<std::uint8_t>(one.version + 1);
    return add(at, next, training_action::send_sum, copy, one.version);
  }
  training_violation broken = training_violation::none;
  if (options_.replicas > 1) {
    if (one.sums[set] == 0) return;
    if (one.sums[set] != one.version + 1) {
      if (!is(training_mutant::sums_have_no_step)) return;
      broken = training_violation::other_sum;
    }
    next.copies[copy].sums[set] = 0;
  }
  if (has_ties(copy) && !take_tied(next.copies[copy], broken)) return;
  const bool is_there = one.finished == one.version + 1;
  if (is_there && !options_.writes_again) return vote({next, at.into}, copy);
  next.copies[copy].finished = 0;
  next.copies[copy].is_torn = 1;
  add(at, next, training_action::write_gradient, copy, one.version, broken);
}

void training_model::vote(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  stage_copy& one = next.copies[copy];
  one.has_voted = 1;
  one.votes[one.epoch] = static_cast<std::uint8_t>(one.version + 1);
  add(at, next, training_action::vote, copy, one.version);
}

void training_model::apply(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  stage_copy& one = next.copies[copy];
  const auto step = static_cast<std::uint8_t>(at.from.decided - 1);
  one.is_told = 0;
  if (one.version > step) {
    const bool is_repeated = is(training_mutant::decision_is_repeated);
    return add(at, next, training_action::apply, copy, step,
               is_repeated ? training_violation::applied_twice : training_violation::none);
  }
  training_violation broken = training_violation::none;
  if (at.from.journaled <= step) broken = training_violation::unwritten;
  if (one.finished != step + 1) broken = training_violation::lost_step;
  const bool keeps_live = is(training_mutant::decision_keeps_live) && one.forwards > one.backwards;
  if (!keeps_live) forget_work(one);
  one.finished = 0;
  ++one.version;
  add(at, next, training_action::apply, copy, step, broken);
}

void training_model::begin_anew(const place& at, std::uint8_t copy) const {
  training_moment next = at.from;
  stage_copy& one = next.copies[copy];
  const std::uint8_t sum = one.added;
  // Another epoch's; the sums of this one may be there already.
  one.sums[(next.epoch + 1) % 2] = 0;
  one.tied[(next.epoch + 1) % 2] = {};
  forget_work(one);
  if (is(training_mutant::epoch_keeps_sum)) one.added = sum;
  one.epoch = next.epoch;
  add(at, next, training_action::begin_anew, copy, next.epoch);
}

}  // namespace troupe::testing
