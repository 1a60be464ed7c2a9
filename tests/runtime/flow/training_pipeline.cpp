#include "training_pipeline.hpp"

#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Calls that are open at once.
constexpr call_number opened_ahead = 3;

}  // namespace

training_pipeline::training_pipeline(training_setup setup) : setup_(std::move(setup)), drawn_(setup_.seed) {
  nodes_.reserve(std::size_t{setup_.stages} * setup_.replicas);  // listeners keep their addresses
  for (stage_index stage = 0; stage < setup_.stages; ++stage) {
    for (replica_index replica = 0; replica < setup_.replicas; ++replica) {
      node& made = nodes_.emplace_back();
      made.address = {stage, replica};
      made.memory->weights = first_weights(stage);
      build(made);
    }
  }
  while (opened_ < std::min<call_number>(opened_ahead, setup_.calls.size())) open_next();
  start_epoch();
}

void training_pipeline::build(node& each) {
  const bool is_last = each.address.stage + 1 == setup_.stages;
  each.body = std::make_shared<hash_training_body>(each.memory, is_last);
  training_stage_engine_options options{.name = "stage " + std::to_string(each.address.stage),
                                        .address = each.address,
                                        .stages = setup_.stages,
                                        .replicas = setup_.replicas,
                                        .now = [this] { return now_; }};
  if (is_last) options.sinks = {0};
  if (setup_.is_traced) options.trace = &clock_;
  each.engine = std::make_unique<training_stage_engine>(options, each.body);
  stage_listener listener;
  listener.on_scores = [this](const std::vector<score>& batch) { take_scores(batch); };
  listener.on_vote = [this](const step_vote& vote) { take_vote(vote); };
  listener.on_failure = [this](failure what) {
    if (what.micro_batch) cancel(what.micro_batch->call);
    failures.push_back(std::move(what));
  };
  listener.on_finished = [&each] { each.has_finished = true; };
  each.engine->listen(std::move(listener));
  each.engine->on_thread_start();
  each.told.clear();
  each.opened = current_;
  each.is_alive = true;
  each.laziness = static_cast<unsigned>(draw(8));
}

edge_ends training_pipeline::edge(std::uint32_t slots) {
  return edges_.make({.slots = slots, .producer_bell = nullptr, .consumer_bell = nullptr});
}

void training_pipeline::wire(std::vector<std::shared_ptr<engine_wiring>>& wirings) {
  for (auto& each : to_first_) each->abandon();
  to_first_.clear();
  for (std::size_t place = 0; place < nodes_.size(); ++place) wirings.push_back(std::make_shared<engine_wiring>());
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    const auto [stage, replica] = nodes_[place].address;
    edge_ends down = edge(setup_.slots.value_or(live_micro_batches_max(setup_.stages, stage)));
    wirings[place]->inbound.push_back({0, std::move(down.consumer)});
    if (stage == 0) {
      to_first_.push_back(std::move(down.producer));
    } else {
      const std::size_t before = place - setup_.replicas;
      fan_out& out = wirings[before]->outbound;
      out.add_edge(out.add_branch({}), std::move(down.producer));
      edge_ends up = edge(setup_.gradient_slots);
      wirings[place]->gradients_out = std::move(up.producer);
      wirings[before]->gradients_in = std::move(up.consumer);
    }
  }
  for (std::size_t from = 0; from < nodes_.size(); ++from) {
    for (std::size_t to = 0; to < nodes_.size(); ++to) {
      if (from == to || !are_peers(nodes_[from].address.stage, nodes_[to].address.stage)) continue;
      edge_ends made = edge(1);
      const auto end_of = [&](std::size_t at, std::size_t towards) -> engine_wiring::peer& {
        auto& peers = wirings[at]->peers;
        const stage_address other = nodes_[towards].address;
        const auto found = std::ranges::find(peers, other, &engine_wiring::peer::address);
        if (found != peers.end()) return *found;
        return peers.emplace_back(engine_wiring::peer{.address = other, .to = nullptr, .from = nullptr});
      };
      end_of(from, to).to = std::move(made.producer);
      end_of(to, from).from = std::move(made.consumer);
    }
  }
}

bool training_pipeline::are_peers(stage_index one, stage_index other) const {
  const auto is_tied = [&](stage_index stage) { return std::ranges::find(setup_.tied, stage) != setup_.tied.end(); };
  return one == other || (is_tied(one) && is_tied(other));
}

void training_pipeline::start_epoch(bool lag) {
  ++epoch_;
  votes_by_call_.clear();
  micro_batch_id from{current_, 0};
  if (lag && current_ > 0) --from.call;
  for (node& each : nodes_) {
    if (each.is_alive) continue;
    dead_.push_back(std::move(each.engine));
    build(each);
    if (newest_) each.told.push_back(stage_command::decide_step{*newest_});
    for (call_number call = current_; call < opened_; ++call) {
      if (!cancelled_.contains(call)) each.told.push_back(open_of(call, each));
    }
  }
  std::vector<std::shared_ptr<engine_wiring>> wirings;
  wire(wirings);
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    nodes_[place].told.push_back(stage_command::start_epoch{std::move(wirings[place]), from, epoch_});
    // A decision that is on its way may also come behind the new epoch.
    auto& told = nodes_[place].told;
    if (told.size() > 1 && std::holds_alternative<stage_command::decide_step>(told[told.size() - 2]) &&
        nodes_[place].opened > newest_->call && draw(2) == 0) {
      std::swap(told[told.size() - 1], told[told.size() - 2]);
    }
  }
  next_ = from;
}

stage_command::open_call training_pipeline::open_of(call_number call, const node& at) const {
  stage_command::open_call made{.call = call, .scorers = {}, .trains = setup_.calls[call].trains};
  if (at.address.stage + 1 == setup_.stages) made.scorers = {std::make_shared<hash_output_scorer>()};
  return made;
}

void training_pipeline::tell(const stage_command_t& command) {
  for (node& each : nodes_) each.told.push_back(command);
}

void training_pipeline::open_next() {
  for (node& each : nodes_) each.told.push_back(open_of(opened_, each));
  ++opened_;
}

void training_pipeline::cancel(call_number call) {
  if (call < current_ || cancelled_.contains(call)) return;
  cancelled_.insert(call);
  tell(stage_command::cancel_call{call});
  std::erase_if(scores_, [&](const auto& entry) { return entry.first.call == call; });
}

// --- the one who decides ---------------------------------------------------------------------------------------------

void training_pipeline::take_scores(const std::vector<score>& batch) {
  for (const score& each : batch) {
    if (cancelled_.contains(each.id.call)) continue;
    const auto word_of = each.words.empty() ? std::nullopt : std::optional(each.words.front());
    const auto known = scores_.try_emplace(each.id, word_of).first;
    EXPECT_EQ(known->second, word_of) << to_string(each.id) << " was computed again";
  }
}

void training_pipeline::take_vote(const step_vote& vote) {
  votes_.push_back(vote);
  if (vote.epoch != epoch_ || vote.call < current_) return;
  EXPECT_TRUE(votes_by_call_[vote.call].emplace(vote.address, vote).second) << "two votes in one epoch";
}

bool training_pipeline::decide_if_complete() {
  if (current_ == setup_.calls.size()) return false;
  const planned_call& call = setup_.calls[current_];
  if (cancelled_.contains(current_)) {
    end_call();
    return true;
  }
  const auto scored = std::ranges::count_if(scores_, [&](const auto& each) { return each.first.call == current_; });
  const auto& votes = votes_by_call_[current_];
  if (call.trains && votes.size() < nodes_.size()) return false;
  if (call.trains) {
    EXPECT_EQ(static_cast<std::uint64_t>(scored), call.micro_batches) << "scores come before the vote";
  }
  if (static_cast<std::uint64_t>(scored) < call.micro_batches) return false;
  if (call.trains) {
    for (const auto& [address, vote] : votes) {
      EXPECT_EQ(vote.state_hash, votes.at({address.stage, 0}).state_hash) << "replicas differ";
    }
    newest_ = step_decision{.call = current_, .step = steps_++, .is_applied = !call.is_skipped};
    tell(stage_command::decide_step{*newest_});
    if (draw(3) == 0) tell(stage_command::decide_step{*newest_});
  }
  end_call();
  return true;
}

void training_pipeline::end_call() {
  tell(stage_command::release_call{current_});
  votes_by_call_.erase(current_);
  ++current_;
  if (opened_ < setup_.calls.size()) open_next();
  next_ = std::max(next_, {current_, 0});
}

// --- turns -----------------------------------------------------------------------------------------------------------

bool training_pipeline::load() {
  if (next_.call >= opened_) return false;
  if (std::ranges::any_of(nodes_, [&](const node& each) { return each.is_alive && each.opened <= next_.call; })) {
    return false;
  }
  const planned_call& call = setup_.calls[next_.call];
  if (next_.index >= call.micro_batches || cancelled_.contains(next_.call)) {
    for (auto& each : to_first_) each->send_flush(next_.call);
    next_ = {next_.call + 1, 0};
    return true;
  }
  activation message{.id = next_, .samples = {next_.index, next_.index + 1}, .tensors = nullptr, .labels = nullptr};
  if (call.is_empty(next_.index)) {
    message.rows = std::make_shared<const row_set>();
  } else {
    message.tensors = boxed(input_of(next_));
  }
  if (to_first_[next_.index % setup_.replicas]->try_send(message) != send_status::sent) return false;
  ++next_.index;
  return true;
}

void training_pipeline::hear(node& who) {
  if (const auto* begin = std::get_if<stage_command::open_call>(&who.told.front())) who.opened = begin->call + 1;
  EXPECT_TRUE(who.engine->command(std::move(who.told.front())));
  who.told.pop_front();
}

bool training_pipeline::move(std::size_t actor, bool is_sweep) {
  now_ += 50us;
  if (actor < nodes_.size()) {
    node& who = nodes_[actor];
    if (!who.told.empty() && who.is_alive && (is_sweep || draw(2) == 0)) {
      hear(who);
      return true;
    }
    return who.is_alive && !who.has_finished && who.engine->step() == step_result::progressed;
  }
  return actor == nodes_.size() ? load() : decide_if_complete();
}

bool training_pipeline::run_until(const std::function<bool()>& reached) {
  const std::size_t actors = nodes_.size() + 2;
  for (std::size_t idle = 0; idle < 2 * actors;) {
    ++turns_;
    // After many turns without progress, all have their turn one after another, and scores that wait are due.
    const bool is_sweep = idle >= actors;
    if (idle == actors) now_ += 1s;
    const std::size_t actor = is_sweep ? idle - actors : draw(actors);
    if (!is_sweep && actor < nodes_.size() && draw(8) < nodes_[actor].laziness) continue;
    idle = move(actor, is_sweep) ? 0 : idle + 1;
    if (reached()) return false;
  }
  return current_ == setup_.calls.size();
}

bool training_pipeline::stop() {
  for (node& each : nodes_) {
    if (each.is_alive) each.engine->stop();
  }
  run();
  return std::ranges::all_of(nodes_, [](const node& each) { return !each.is_alive || each.has_finished; });
}

training_outcome training_pipeline::outcome() const {
  training_outcome all{.scores = scores_, .weights = {}};
  for (const node& each : nodes_) {
    if (each.address.replica == 0) all.weights.push_back(each.memory->weights);
    EXPECT_EQ(each.memory->weights, all.weights.back()) << "replicas of a stage have the same weights";
  }
  return all;
}

bool training_pipeline::has_all_slots_back() const {
  return std::ranges::all_of(to_first_, [](const auto& each) { return each->credits() == each->slots(); });
}

}  // namespace troupe::testing
