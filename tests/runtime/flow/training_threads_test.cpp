// Goal: engines that train do on threads of their own what they do step by step, also through an epoch that comes in
// the middle of a step. Method: two stages of two replicas on engine threads; the test is the loader, and decides.
#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

#include "hash_training.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/engine_thread.hpp"
#include "runtime/flow/training_stage_engine.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t stages = 2;
constexpr std::uint32_t replicas = 2;
constexpr std::size_t engines = std::size_t{stages} * replicas;

constexpr stage_index stage_of(std::size_t place) {
  return static_cast<stage_index>(place / replicas);
}

struct threaded_chain {
  threaded_chain() {
    for (std::size_t place = 0; place < engines; ++place) {
      const stage_address address{stage_of(place), static_cast<replica_index>(place % replicas)};
      const bool is_last = address.stage + 1 == stages;
      memories.push_back(std::make_shared<stage_memory>());
      memories.back()->weights = first_weights(address.stage);
      training_stage_engine_options options{
          .name = "stage " + std::to_string(address.stage), .address = address, .stages = stages, .replicas = replicas};
      if (is_last) options.sinks = {0};
      all.push_back(std::make_unique<training_stage_engine>(
          options, std::make_shared<hash_training_body>(memories.back(), is_last)));
      stage_listener listener;
      listener.on_scores = [this](const std::vector<score>& batch) {
        const std::scoped_lock lock(mutex);
        for (const score& each : batch) scores.try_emplace(each.id, each.words.front());
      };
      listener.on_vote = [this](const step_vote& vote) {
        const std::scoped_lock lock(mutex);
        votes[{vote.epoch, vote.call}] += 1;
        has_voted.notify_all();
      };
      all.back()->listen(std::move(listener));
    }
    for (auto& each : all) threads.push_back(engine_thread::start(*each).value());
  }
  ~threaded_chain() {
    for (auto& each : all) each->stop();
    for (auto& each : threads) EXPECT_TRUE(each->join(std::chrono::steady_clock::now() + 20s));
  }

  edge_ends edge(std::uint32_t slots, doorbell* from, doorbell* to) {
    return edges.make({.slots = slots, .producer_bell = from, .consumer_bell = to});
  }
  void tell(const std::function<stage_command_t(std::size_t)>& made) {
    for (std::size_t place = 0; place < engines; ++place) ASSERT_TRUE(all[place]->command(made(place)));
  }

  void start_epoch(call_number from) {
    for (auto& each : inputs) each->abandon();
    inputs.clear();
    std::vector<std::shared_ptr<engine_wiring>> made;
    for (std::size_t place = 0; place < engines; ++place) made.push_back(std::make_shared<engine_wiring>());
    for (std::size_t replica = 0; replica < replicas; ++replica) {
      const std::size_t next = replicas + replica;
      doorbell& first_bell = all[replica]->bell();
      doorbell& next_bell = all[next]->bell();
      edge_ends in = edge(2, nullptr, &first_bell);
      edge_ends down = edge(1, &first_bell, &next_bell);
      edge_ends up = edge(2, &next_bell, &first_bell);
      inputs.push_back(std::move(in.producer));
      made[replica]->inbound.push_back({0, std::move(in.consumer)});
      made[replica]->outbound.add_edge(made[replica]->outbound.add_branch({}), std::move(down.producer));
      made[replica]->gradients_in = std::move(up.consumer);
      made[next]->inbound.push_back({0, std::move(down.consumer)});
      made[next]->gradients_out = std::move(up.producer);
    }
    for (std::size_t first = 0; first < engines; first += replicas) {
      edge_ends there = edge(2, &all[first]->bell(), &all[first + 1]->bell());
      edge_ends back = edge(2, &all[first + 1]->bell(), &all[first]->bell());
      made[first]->peers.push_back(
          {.address = {stage_of(first), 1}, .to = std::move(there.producer), .from = std::move(back.consumer)});
      made[first + 1]->peers.push_back(
          {.address = {stage_of(first), 0}, .to = std::move(back.producer), .from = std::move(there.consumer)});
    }
    ++epoch;
    tell([&](std::size_t place) { return stage_command::start_epoch{made[place], {from, 0}, epoch}; });
  }

  /// False if the receiver has no room for too long.
  [[nodiscard]] bool send(micro_batch_id id) {
    activation message{.id = id, .samples = {0, 1}, .tensors = boxed(input_of(id)), .labels = nullptr};
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (inputs[id.index % replicas]->try_send(message) != send_status::sent) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  [[nodiscard]] bool await_votes(call_number call) {
    std::unique_lock lock(mutex);
    return has_voted.wait_for(lock, 20s, [&] { return votes[{epoch, call}] == engines; });
  }

  inproc_edge_factory edges;
  std::vector<std::shared_ptr<stage_memory>> memories;
  std::vector<std::unique_ptr<training_stage_engine>> all;
  std::vector<std::unique_ptr<engine_thread>> threads;
  std::vector<std::unique_ptr<edge_producer>> inputs;
  epoch_number epoch = 0;
  std::mutex mutex;
  std::condition_variable has_voted;
  std::map<std::pair<epoch_number, call_number>, std::size_t> votes;
  std::map<micro_batch_id, std::optional<word>> scores;
};

TEST(training_threads, give_the_numbers_of_a_plain_loop) {
  const std::vector<planned_call> calls(6, {.micro_batches = 7});
  training_outcome outcome;
  {
    threaded_chain chain;
    chain.start_epoch(0);
    for (call_number call = 0; call < calls.size(); ++call) {
      chain.tell([&](std::size_t place) {
        stage_command::open_call begin{.call = call, .scorers = {}, .trains = true};
        if (place >= replicas) begin.scorers = {std::make_shared<hash_output_scorer>()};
        return begin;
      });
      if (call % 2 == 1) {  // in the middle of the step all begin anew
        for (std::uint64_t index = 0; index < 3; ++index) ASSERT_TRUE(chain.send({call, index}));
        chain.start_epoch(call);
      }
      for (std::uint64_t index = 0; index < calls[call].micro_batches; ++index) ASSERT_TRUE(chain.send({call, index}));
      for (auto& each : chain.inputs) each->send_flush(call);
      ASSERT_TRUE(chain.await_votes(call));
      chain.tell([&](std::size_t) { return stage_command::decide_step{{.call = call, .step = call}}; });
      chain.tell([&](std::size_t) { return stage_command::release_call{call}; });
    }
    for (auto& each : chain.all) each->stop();
    for (auto& each : chain.threads) ASSERT_TRUE(each->join(std::chrono::steady_clock::now() + 20s));
    for (const std::size_t place : {0u, 2u}) {
      outcome.weights.push_back(chain.memories[place]->weights);
      EXPECT_EQ(chain.memories[place + 1]->weights, outcome.weights.back());
    }
    outcome.scores = chain.scores;
  }
  EXPECT_EQ(outcome, plain_training(stages, replicas, calls));
}

}  // namespace
}  // namespace troupe::testing
