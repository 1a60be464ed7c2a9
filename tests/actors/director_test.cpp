// Goal: what the director and the aggregator say when somebody is replaced, in orders of events that seeded runs seldom
// meet. Method: the production actors in one thread; the test steps the loader's engine and speaks for the stages.
#include <algorithm>

#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include <troupe/actors/director.hpp>
#include <troupe/actors/local_crew.hpp>
#include <troupe/runtime/edge/inproc/inproc_edge.hpp>

#include "support/hashes.hpp"

namespace troupe::testing {
namespace {

struct testing_config : caf::actor_system_config {
  testing_config() { set("scheduler.policy", caf::atom("testing")); }
};

struct nothing final : payload {};

struct echo_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

struct idle_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr&, const activation&, score&) override { return {}; }
};

struct counted_source final : micro_batch_source {
  explicit counted_source(std::uint64_t n) : end(n) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position == end) return std::nullopt;
    ++position;
    return loaded_micro_batch{{position - 1, position}, std::make_shared<const nothing>(), nullptr};
  }
  std::uint64_t position = 0;
  std::uint64_t end;
};

/// The test steps the engines, or does not.
struct idle_host final : engine_host {
  [[nodiscard]] expected<void> start(std::shared_ptr<engine>) override { return {}; }
};

/// Stages that never do anything but have faces; remembers what was wired.
struct noting_crew final : local_crew {
  noting_crew(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host)
      : local_crew(std::move(engines), std::move(host)) {}
  [[nodiscard]] expected<stage_actor> start(director_actor::pointer director, const aggregator_actor& aggregator,
                                            stage_address at, incarnation_number incarnation) override {
    return introduce(*std::ranges::find(engines_->stages, at, &stage_engine::address), director, aggregator,
                     incarnation);
  }
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> wire(const wiring_round& round) override {
    if (broken) throw std::runtime_error("no descriptor is left");
    from.push_back(round.from);
    epoch = round.epoch;
    return local_crew::wire(round);
  }
  std::vector<micro_batch_id> from;
  epoch_number epoch = 0;
  bool broken = false;
};

std::shared_ptr<assembly> one_stage() {
  auto made = assemble(
      *expand(make_chain({.stages = 1, .replicas = 1, .num_pipe_buffers = 4})), std::make_shared<inproc_edge_factory>(),
      [](stage_address) { return std::make_shared<echo_body>(); }, {.depths = {.from_loader = limits::prefetch_slots}});
  return std::make_shared<assembly>(std::move(*made));
}

struct directed_run {
  directed_run() {
    const auto note = [this](const caf::actor& child) { children.push_back(child); };
    directs = system.spawn(director, director_plan{.engines = engines,
                                                   .ledger = std::make_shared<fold_ledger>(engines->ledger_options()),
                                                   .host = host,
                                                   .crew = crew,
                                                   .reports = std::make_shared<report_box>(),
                                                   .on_child = note,
                                                   .on_stopped = [this] { ended = true; }});
    settle();
    post(directs, stage_ready{stage, 0});
    settle();
  }
  ~directed_run() {
    post(directs, stop_request{stop_mode::abort});
    settle();
    post(directs, stopped{.address = stage, .incarnation = incarnation});
    settle();
  }

  /// A call of `count` micro-batches, of which an earlier run has folded the first `folded`.
  void submit(std::uint64_t count, std::uint64_t folded = 0) {
    auto ticket = std::make_shared<call_ticket>();
    source = std::make_shared<counted_source>(count - folded);
    ticket->source = source;
    ticket->start.folded = {folded};
    ticket->make_scorer = [](std::uint32_t) { return std::make_shared<idle_scorer>(); };
    ticket->folds = {std::make_shared<hash_fold>()};
    outcome = ticket->done.get_future();
    submitted = ticket;
    post(directs, open_call{ticket});
    settle();
  }
  /// What the director tells the loader's actor meanwhile is lost.
  template <class F>
  void while_the_loaders_actor_dies(F&& tell_director) {
    caf::anon_send_exit(children.back(), caf::exit_reason::kill);
    tell_director();
    const auto aggregates = children.front();
    for (const caf::actor& next :
         {caf::actor_cast<caf::actor>(directs), aggregates, caf::actor_cast<caf::actor>(directs)}) {
      if (scheduler().prioritize(next)) scheduler().run_once();
    }
    settle();
  }
  /// The loader pauses before it hears of this score, and the director hears of all that follows from it before it
  /// hears of the pause.
  void replace_stage_while_folding(micro_batch_id id) {
    post(directs, stage_lost{stage, incarnation, {}, std::nullopt});
    post(directs, stage_ready{stage, ++incarnation});
    actors();
    score_of(id);
    static_cast<void>(engines->loader->step());
    settle();
  }
  void score_of(micro_batch_id id) {
    score made;
    made.id = id;
    post(caf::actor_cast<aggregator_actor>(children.front()), score_batch{{made}});
  }
  /// All actors have done what they were told, and so has the loader's engine.
  void settle() {
    for (int turns = 0; turns < 20; ++turns) {
      actors();
      static_cast<void>(engines->loader->step());
    }
    actors();
  }
  void edge_lost_in(epoch_number epoch) {
    post(directs, edge_lost{epoch, {error_code::peer_lost, "edge 0", "the connection broke", {}}});
    settle();
  }
  void pass_time(std::chrono::nanoseconds time) {
    scheduler().advance_time(time);
    settle();
  }
  void actors() { scheduler().run(); }
  caf::scheduler::test_coordinator& scheduler() {
    return dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }

  const stage_address stage{0, 0};
  incarnation_number incarnation = 0;
  std::shared_ptr<assembly> engines = one_stage();
  std::shared_ptr<idle_host> host = std::make_shared<idle_host>();
  std::shared_ptr<noting_crew> crew = std::make_shared<noting_crew>(engines, host);
  /// The aggregator, the loader's face, and whoever came for them.
  std::vector<caf::actor> children;
  testing_config config;
  caf::actor_system system{config};
  director_actor directs;
  /// Of the call that was submitted last.
  std::future<call_outcome> outcome;
  std::shared_ptr<counted_source> source;
  call_ticket_ptr submitted;
  bool ended = false;
};

using ids = std::vector<micro_batch_id>;

TEST(director, lets_nobody_wait_for_a_call_that_ended_while_the_loader_was_paused) {
  directed_run run;
  run.submit(1);
  run.submit(2);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.crew->from, (ids{{0, 0}, {1, 0}})) << "who is new has not heard of call 0, others have forgotten it";
}

TEST(director, begins_with_the_next_call_when_all_have_ended) {
  directed_run run;
  run.submit(1);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.crew->from, (ids{{0, 0}, {1, 0}}));
}

TEST(director, begins_a_resumed_call_where_the_loader_does) {
  directed_run run;
  run.submit(1);
  run.submit(5, 3);
  run.replace_stage_while_folding({0, 0});
  EXPECT_EQ(run.crew->from, (ids{{0, 0}, {1, 3}}));
}

TEST(director, believes_the_loader_within_a_call_that_is_open) {
  directed_run run;
  run.submit(3);
  run.score_of({0, 0});
  run.settle();
  run.replace_stage_while_folding({0, 1});
  EXPECT_EQ(run.crew->from, (ids{{0, 0}, {0, 1}})) << "that is what it sends first";
}

TEST(director, makes_new_edges_when_one_is_silent_though_all_live) {
  directed_run run;
  run.submit(3);
  run.edge_lost_in(run.crew->epoch);
  EXPECT_EQ(run.crew->from, (ids{{0, 0}})) << "somebody's death, told another way, may be behind it";
  run.pass_time(limits::edge_loss_patience);
  EXPECT_EQ(run.crew->from, (ids{{0, 0}, {0, 0}}));
  run.edge_lost_in(run.crew->epoch - 1);
  run.pass_time(limits::edge_loss_patience);
  EXPECT_EQ(run.crew->from.size(), 2u) << "the other end of the same edge says so, too";
}

TEST(director, gives_up_when_edges_are_lost_without_progress) {
  directed_run run;
  run.submit(3);
  for (std::uint32_t time = 0; time < limits::deaths_without_progress_max; ++time) {
    ASSERT_NE(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready) << time;
    run.edge_lost_in(run.crew->epoch);
    run.pass_time(limits::edge_loss_patience);
  }
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  EXPECT_EQ(run.outcome.get().cause->code, error_code::peer_lost);
}

TEST(director, answers_a_call_that_comes_after_a_fatal_failure_with_its_cause) {
  directed_run run;
  post(run.directs,
       failure{run.stage, 0, "stage 0", std::nullopt, {error_code::worker_mismatch, "worker", "no", {}}, 0});
  run.settle();
  const auto expect_an_answer = [&] {
    run.submit(3);
    ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
    const call_outcome outcome = run.outcome.get();
    EXPECT_TRUE(outcome.tally.cancelled);
    EXPECT_EQ(outcome.cause->code, error_code::worker_mismatch);
  };
  expect_an_answer();
  post(run.directs, stopped{.address = run.stage, .incarnation = 0});
  run.settle();
  EXPECT_FALSE(run.ended) << "nobody has asked for it, and whoever submits waits for an answer";
  expect_an_answer();
  post(run.directs, stop_request{stop_mode::drain});
  run.settle();
  EXPECT_TRUE(run.ended);
}

TEST(director, answers_all_when_the_edges_cannot_be_made) {
  directed_run run;
  run.submit(3);
  run.crew->broken = true;
  post(run.directs, stage_lost{run.stage, 0, {}, std::nullopt});
  post(run.directs, stage_ready{run.stage, ++run.incarnation});
  run.settle();
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  const std::optional<error> cause = run.outcome.get().cause;
  EXPECT_EQ(cause->code, error_code::process_failed);
  EXPECT_NE(cause->cause.find("no descriptor is left"), std::string::npos) << to_string(*cause);
}

TEST(director, ends_after_a_failure_that_came_after_the_order_to_stop) {
  directed_run run;
  run.submit(3);
  post(run.directs, stop_request{stop_mode::drain});
  run.settle();
  EXPECT_FALSE(run.ended);
  post(run.directs, failure{run.stage, 0, "stage 0", std::nullopt, {error_code::internal, "stage 0", "no", {}}, 0});
  run.settle();
  EXPECT_EQ(run.outcome.get().cause->code, error_code::internal);
  EXPECT_FALSE(run.ended) << "the stage still runs";
  post(run.directs, stopped{.address = run.stage, .incarnation = 0});
  run.settle();
  EXPECT_TRUE(run.ended);
}

TEST(director, tells_a_new_loader_of_a_cancelled_call_that_has_ended_meanwhile) {
  directed_run run;
  run.submit(1u << 20);
  const auto given_up = run.source;
  run.while_the_loaders_actor_dies([&] {
    post(run.directs, cancel_ticket{run.submitted, {error_code::interrupted, "test", "enough of it", {}}});
  });
  ASSERT_EQ(run.outcome.wait_for(std::chrono::seconds{0}), std::future_status::ready);
  ASSERT_EQ(run.children.size(), 3u) << "another actor for the loader";
  const std::uint64_t read = given_up->position;
  run.submit(2);
  run.settle();
  EXPECT_EQ(run.source->position, 2u) << "it waits behind the call that nobody wants";
  EXPECT_EQ(given_up->position, read);
}

TEST(director, tells_a_new_loader_which_calls_are_cut) {
  directed_run run;
  run.submit(1u << 20);
  const auto cut = run.source;
  const std::uint64_t read = cut->position;
  run.while_the_loaders_actor_dies([&] { post(run.directs, cut_calls{}); });
  ASSERT_EQ(run.children.size(), 3u) << "another actor for the loader";
  run.submit(60);
  run.while_the_loaders_actor_dies([] {});
  ASSERT_EQ(run.children.size(), 4u);
  for (int times = 0; times < 6; ++times) run.settle();
  EXPECT_EQ(run.source->position, 60u) << "calls that came after the cut are not cut, whoever dies";
  EXPECT_EQ(cut->position, read);
}

TEST(aggregator, tells_a_new_loader_the_mark_that_the_old_one_may_not_have_heard) {
  directed_run run;
  run.submit(2);
  caf::anon_send_exit(run.children.back(), caf::exit_reason::kill);
  run.score_of({0, 0});
  run.settle();
  ASSERT_EQ(run.children.size(), 3u);
  EXPECT_EQ(run.engines->loader->low_water(), (micro_batch_id{0, 1}));
}

}  // namespace
}  // namespace troupe::testing
