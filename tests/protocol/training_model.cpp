#include "tests/protocol/training_model.hpp"

#include <algorithm>
#include <array>

#include "messages/check.hpp"

// What the director does, deaths, and what all steps have in common.
namespace troupe::testing {

training_model::training_model(const training_options& options)
    : options_(options), copies_(static_cast<std::uint8_t>(options.stages * options.replicas)) {
  TROUPE_CHECK(copies_ >= 1 && copies_ <= training_copies_max, "a moment has room for every copy");
  TROUPE_CHECK(options.replicas <= 2, "a copy keeps the sum of one other replica");
  TROUPE_CHECK(!options.is_tied || options.stages > 1, "two stages share weights");
  TROUPE_CHECK(options.micro_batches >= options.replicas && options.micro_batches <= 4, "a sum is four bits");
  TROUPE_CHECK(options.steps <= training_steps_max && options.steps * options.micro_batches <= 15,
               "an id of the model is four bits");
  TROUPE_CHECK(options.deaths <= training_deaths_max, "an epoch of the model is two bits");
  TROUPE_CHECK(!options.is_reduced || options.wrong == training_mutant::none,
               "the reduction holds for the right protocol");
  TROUPE_CHECK(options.stages + options.spare_slots <= static_cast<int>(training_slots_max), "a queue has four slots");
  TROUPE_CHECK(state_size() <= training_state{}.size(), "a state has room for every edge and copy");
}

training_state training_model::initial() const {
  return pack(training_moment{}, copies_);
}

void training_model::steps(const training_state& from, std::vector<training_step>& into) const {
  into.clear();
  const training_moment moment = unpack(from, copies_);
  const place at{moment, into};
  load(at);
  for (std::uint8_t copy = 0; copy < copies_; ++copy) work(at, copy);
  direct(at);
  if (options_.is_reduced) reduce(at);
}

void training_model::reduce(const place& at) const {
  const auto copies = std::span(at.from.copies).first(copies_);
  const auto is_here = [&](const stage_copy& each) { return each.is_alive && each.epoch == at.from.epoch; };
  if (at.from.deaths < options_.deaths || !std::ranges::all_of(copies, is_here)) return;
  const auto only = std::ranges::find_if(at.into, [&](const training_step& step) {
    const bool is_directors = step.action == training_action::read_vote || step.action == training_action::load;
    return is_directors || (step.action <= training_action::vote && !copies[step.copy].is_told);
  });
  if (only == at.into.end()) return;
  const training_step kept = *only;
  at.into.assign(1, kept);
}

void training_model::direct(const place& at) const {
  read_votes(at);
  decide(at);
  if (at.from.journaled < at.from.decided) {
    training_moment next = at.from;
    next.journaled = next.decided;
    add(at, next, training_action::write_journal, 0, next.decided);
  }
  begin_epochs(at);
  if (at.from.deaths < options_.deaths) deaths(at);
}

void training_model::read_votes(const place& at) const {
  for (std::uint8_t copy = 0; copy < copies_; ++copy) {
    // Those of one link come in order.
    const auto& votes = at.from.copies[copy].votes;
    const auto first = std::ranges::find_if(votes, [](std::uint8_t vote) { return vote != 0; });
    if (first == votes.end()) continue;
    const auto epoch = static_cast<std::uint8_t>(first - votes.begin());
    training_moment next = at.from;
    stage_copy& one = next.copies[copy];
    one.votes[epoch] = 0;
    const bool is_current = epoch == next.epoch || is(training_mutant::old_votes_count);
    if (is_current && *first == next.decided + 1) one.counted = static_cast<std::uint8_t>(epoch + 1);
    add(at, next, training_action::read_vote, copy, epoch);
  }
}

/// In the right protocol the journal is written within this step, before any stage is told.
void training_model::decide(const place& at) const {
  const auto copies = std::span(at.from.copies).first(copies_);
  if (at.from.decided == options_.steps) return;
  if (std::ranges::any_of(copies, [](const stage_copy& each) { return each.counted == 0; })) return;
  const bool is_folded = at.from.folded == (1u << options_.micro_batches) - 1;
  if (!is_folded) return;
  training_violation broken = training_violation::none;
  const auto is_old = [&](const stage_copy& each) { return each.counted != at.from.epoch + 1; };
  if (std::ranges::any_of(copies, is_old)) broken = training_violation::mixed_votes;
  training_moment next = at.from;
  ++next.decided;
  if (!is(training_mutant::told_before_written)) next.journaled = next.decided;
  next.folded = 0;
  for (stage_copy& each : std::span(next.copies).first(copies_)) {
    each.counted = 0;
    each.is_told = each.is_alive;
  }
  add(at, next, training_action::decide, 0, at.from.decided, broken);
}

void training_model::deaths(const place& at) const {
  for (std::uint8_t copy = 0; copy < copies_; ++copy) {
    if (!at.from.copies[copy].is_alive) continue;
    training_moment next = at.from;
    stage_copy& one = next.copies[copy];
    const stage_copy kept = one;
    ++next.deaths;
    one = stage_copy{.version = kept.version,
                     .finished = kept.finished,
                     .is_torn = kept.is_torn,
                     .is_alive = 0,
                     .votes = kept.votes,
                     .counted = kept.counted};
    for (edge_set& set : next.edges) {
      set.activations[copy] = {};
      set.gradients[copy] = {};
    }
    add(at, next, training_action::die, copy, 0);
  }
}

/// Every dead copy has a successor, with what its tier has kept. The others hear of the epoch when they come to it. All
/// are told the last decision, in any order with the epoch.
void training_model::begin_epochs(const place& at) const {
  const auto copies = std::span(at.from.copies).first(copies_);
  if (std::ranges::all_of(copies, [](const stage_copy& each) { return each.is_alive != 0; })) return;
  training_moment next = at.from;
  ++next.epoch;
  const bool is_early = is(training_mutant::mark_before_decision) && next.decided < options_.steps &&
                        next.folded == (1u << options_.micro_batches) - 1;
  next.edges[next.epoch % 2] = {};
  for (stage_copy& each : std::span(next.copies).first(copies_)) {
    each.counted = 0;
    each.is_told = next.decided > 0 ? 1 : 0;
    each.sums[next.epoch % 2] = 0;
    each.tied[next.epoch % 2] = {};
    if (each.is_alive) continue;
    each.is_alive = 1;
    each.is_torn = 0;
    each.epoch = next.epoch;
    if (is(training_mutant::successor_drops_gradient)) each.finished = 0;
  }
  const auto last = static_cast<std::uint8_t>(next.decided + (is_early ? 1 : 0));
  const auto first = static_cast<std::uint8_t>(
      (options_.marks_lag || is(training_mutant::epoch_before_decision)) && last > 0 ? last - 1 : last);
  for (std::uint8_t mark = first; mark <= last; ++mark) {
    next.loader_next = static_cast<std::uint8_t>(mark * options_.micro_batches);
    add(at, next, training_action::begin_epoch, 0, mark);
  }
}

training_violation training_model::at_rest(const training_state& state) const {
  const training_moment moment = unpack(state, copies_);
  const auto copies = std::span(moment.copies).first(copies_);
  if (moment.decided < options_.steps) return training_violation::deadlock;
  const bool is_done = std::ranges::all_of(
      copies, [&](const stage_copy& each) { return each.is_alive && each.version == options_.steps; });
  if (!is_done) return training_violation::weights_differ;
  const auto left = [](const id_queue& queue) { return queue.count > 0; };
  const edge_set& edges = moment.edges[moment.epoch % 2];
  const bool is_empty = std::ranges::none_of(edges.activations, left) && std::ranges::none_of(edges.gradients, left);
  return is_empty ? training_violation::none : training_violation::deadlock;
}

void training_model::add(const place& at, const training_moment& next, training_action action, std::uint8_t copy,
                         std::uint8_t id, training_violation broken) const {
  at.into.push_back({pack(next, copies_), action, copy, id, broken});
}

void training_model::forget_work(stage_copy& copy) const {
  copy.forwards = 0;
  copy.backwards = 0;
  copy.live_version = 0;
  copy.added = 0;
  copy.has_sent_sum = 0;
  copy.has_sent_tied = 0;
  copy.has_voted = 0;
}

edge_set* training_model::edges_of(training_moment& moment, std::uint8_t copy) const {
  const std::uint8_t epoch = moment.copies[copy].epoch;
  return moment.epoch - epoch > 1 ? nullptr : &moment.edges[epoch % 2];
}

/// A slot is in use until the backward pass of its micro-batch. Messages to a copy that is dead are lost.
bool training_model::has_room(const training_moment& moment, std::uint8_t from_epoch, std::uint8_t to) const {
  const stage_copy& receiver = moment.copies[to];
  if (!receiver.is_alive) return true;
  const int live = receiver.epoch == from_epoch ? receiver.forwards - receiver.backwards : 0;
  return moment.edges[from_epoch % 2].activations[to].count + live < live_max(to) + options_.spare_slots;
}

std::uint8_t training_model::share_of(std::uint8_t copy) const noexcept {
  return static_cast<std::uint8_t>((options_.micro_batches - lane_of(copy) + options_.replicas - 1) /
                                   options_.replicas);
}

std::uint8_t training_model::id_of(std::uint8_t copy, std::uint8_t step, std::uint8_t position) const noexcept {
  return static_cast<std::uint8_t>(step * options_.micro_batches + position * options_.replicas + lane_of(copy));
}

std::uint8_t training_model::live_max(std::uint8_t copy) const noexcept {
  return std::min(static_cast<std::uint8_t>(options_.stages - stage_of(copy)), share_of(copy));
}

std::string training_model::describe(const training_state& /*before*/, const training_step& step) const {
  static constexpr std::array verbs = {"loads",
                                       "forward",
                                       "backward",
                                       "drops",
                                       "sends sum of",
                                       "writes gradient of",
                                       "votes about",
                                       "votes again about",
                                       "applies",
                                       "begins anew in epoch",
                                       "its vote is read, of epoch",
                                       "decides",
                                       "writes journal up to",
                                       "dies",
                                       "an epoch begins at step"};
  return "stage " + std::to_string(stage_of(step.copy)) + "/" + std::to_string(lane_of(step.copy)) + " " +
         verbs[static_cast<std::size_t>(step.action)] + " " + std::to_string(step.id);
}

std::string to_string(const training_options& options) {
  return std::to_string(options.stages) + " stages x " + std::to_string(options.replicas) + ", " +
         std::to_string(options.micro_batches) + " micro-batches, " + std::to_string(options.steps) + " steps, " +
         std::to_string(options.deaths) + " deaths, slots +" + std::to_string(options.spare_slots) + " and " +
         std::to_string(options.gradient_slots) + ", window " + std::to_string(options.window) +
         (options.is_tied ? ", tied" : "");
}

const char* name_of(training_violation found) noexcept {
  static constexpr std::array names = {"nothing",     "deadlock",      "weights differ",     "early forward",
                                       "added twice", "other weights", "other replica",      "other sum",
                                       "missing sum", "mixed votes",   "unwritten decision", "applied twice",
                                       "lost step"};
  return names[static_cast<std::size_t>(found)];
}

}  // namespace troupe::testing
