#pragma once

#include <string>
#include <utility>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "actors/workers/remote_stage.hpp"
#include "tests/actors/workers/fake_host.hpp"
#include "tests/actors/workers/unused_transport.hpp"

namespace troupe::testing {

inline constexpr stage_address address{1, 0};
inline constexpr incarnation_number incarnation = 2;
inline constexpr epoch_number epoch = 3;

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// A chain of two stages, of which the worker is the last. Call 0 has ended; of call 1 three micro-batches were sent,
/// two of 4 samples and one of 2; call 2 has begun. The worker was asked to open 1.
struct assigned_worker {
  explicit assigned_worker(std::vector<std::uint64_t> boundaries = {}) {
    for (const micro_batch_id id : {micro_batch_id{0, 0}, micro_batch_id{0, 1}}) note(id, 4);
    sent->set_low_water({1, 0});
    note({1, 0}, 4);
    note({1, 1}, 4);
    note({1, 2}, 2);
    sent->begin(2, 0);

    auto setup = std::make_shared<worker_setup>();
    setup->assignment = [boundaries](stage_address) { return assignment_data{.boundaries = boundaries}; };
    setup->edges = std::make_shared<unused_transport>(unused_transport::traits{.loses = true});
    const auto plan = expand(make_chain({.stages = 2, .replicas = 1, .num_pipe_buffers = 2}));
    stage = system.spawn(remote_stage, remote_stage_options{.at = address,
                                                            .incarnation = incarnation,
                                                            .setup = setup,
                                                            .registry = registry,
                                                            .accounts = accounts,
                                                            .depths = {},
                                                            .place = place_in(*plan, address),
                                                            .sent = sent,
                                                            .pool = [only = system.spawn(pool, this)] { return only; },
                                                            .director = system.spawn(director, this),
                                                            .aggregator = system.spawn(aggregator, this)});
    run();
    post(stage, worker_granted{worker, 1});
    run();
    worker->now.has_begun = true;  // it begins to become the stage
    auto ticket = std::make_shared<call_ticket>();
    ticket->number = 1;
    ticket->score_words = {3};
    post(stage, open_ticket{ticket});
    post(stage, forward_to_worker{{}, epoch, {{1, [this](const error& why) { damage_reported = to_string(why); }}}});
    run();
    told.clear();
  }
  ~assigned_worker() {
    for (const caf::actor& each : others) caf::anon_send_exit(each, caf::exit_reason::kill);
    caf::anon_send_exit(stage, caf::exit_reason::kill);
    run();
  }

  void note(micro_batch_id id, std::uint64_t samples) {
    if (id.index == 0) sent->begin(id.call, 0);
    sent->note(id, samples);
  }
  void says(const codec::bytes& message) {
    post(stage, worker_said{worker, message});
    run();
  }
  void run() { dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler()).run(); }
  [[nodiscard]] std::string killed_for() const { return worker->killed_for(); }

  // --- whom the actor speaks to ---

  template <class Message>
  static auto note_as(assigned_worker* world, const char* what) {
    return [world, what](const Message&) { world->told.emplace_back(what); };
  }
  static director_actor::behavior_type director(director_actor::pointer self, assigned_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {note_as<open_ticket>(world, "open_ticket"),
            note_as<cancel_ticket>(world, "cancel_ticket"),
            note_as<cut_calls>(world, "cut_calls"),
            note_as<stop_request>(world, "stop_request"),
            note_as<stage_ready>(world, "stage_ready"),
            [world](const stage_lost& lost) {
              world->told.emplace_back("stage_lost");
              world->lost_for = lost.cause.cause;
            },
            note_as<edge_lost>(world, "edge_lost"),
            note_as<edge_still_lost>(world, "edge_still_lost"),
            note_as<work_lost>(world, "work_lost"),
            note_as<loading_paused>(world, "loading_paused"),
            note_as<failure>(world, "failure"),
            note_as<call_folded>(world, "call_folded"),
            note_as<call_completed>(world, "call_completed"),
            note_as<step_vote>(world, "step_vote"),
            note_as<stopped>(world, "stopped")};
  }
  static aggregator_actor::behavior_type aggregator(aggregator_actor::pointer self, assigned_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {[](const meet_loader&) {},
            [](const open_ticket&) { return call_opened{}; },
            note_as<score_batch>(world, "score_batch"),
            [](const call_size&) {},
            [](const commit_call&) {},
            [](const cancel_call&) {}};
  }
  static worker_pool_actor::behavior_type pool(worker_pool_actor::pointer self, assigned_worker* world) {
    world->others.push_back(caf::actor_cast<caf::actor>(self));
    return {[](const worker_said&) {},   [](const worker_request&) {},      [](const worker_unlinked&) {},
            [](const worker_exited&) {}, [](const hello_retry_timeout&) {}, [](const hello_timeout&) {}};
  }

  testing_config config;
  caf::actor_system system{config};
  std::vector<caf::actor> others;
  const std::shared_ptr<worker_registry> registry = std::make_shared<worker_registry>();
  std::shared_ptr<handed_out> sent = std::make_shared<handed_out>();
  std::shared_ptr<stage_accounts> accounts =
      std::make_shared<stage_accounts>(std::vector<stage_accounts::owner>{{"guess", address}});
  const std::shared_ptr<fake_worker> worker = std::make_shared<fake_worker>(0);
  remote_stage_actor stage;
  /// Kinds of messages that director and aggregator got.
  std::vector<std::string> told;
  std::string lost_for;
  /// The worker at the other end of edge 1.
  std::string damage_reported;
};

}  // namespace troupe::testing
