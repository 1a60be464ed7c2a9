#include "fake_workers.hpp"

#include <algorithm>
#include <csignal>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "tests/actors/workers/unused_transport.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

director_actor::behavior_type noting_director(director_actor::pointer, std::shared_ptr<director_news> news) {
  return {[](const open_ticket&) {},
          [](const cancel_ticket&) {},
          [](const cut_calls&) {},
          [](const stop_request&) {},
          [](const stage_ready&) {},
          [news](const stage_lost& what) { news->lost.push_back(what); },
          [](const edge_lost&) {},
          [](const edge_still_lost&) {},
          [](const work_lost&) {},
          [](const loading_paused&) {},
          [news](const failure& what) { news->failures.push_back(what); },
          [](const call_folded&) {},
          [](const call_completed&) {},
          [](const step_vote&) {},
          [](const stopped&) {}};
}

}  // namespace

fake_workers::fake_workers(std::uint32_t stages) {
  scheduler().clock().current_time += 1h;
  setup_->assignment = [](stage_address) { return assignment_data{}; };
  setup_->edges = std::make_shared<unused_transport>();
  std::vector<stage_accounts::owner> owners;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    owners.push_back({"stage " + std::to_string(stage), {stage, 0}});
  }
  const auto accounts = std::make_shared<stage_accounts>(owners);
  director_ = system_.spawn(noting_director, news_);
  pool_ = system_.spawn(worker_pool, host_, limits::worker_hello_patience, setup_->edges);
  second_pool_ = system_.spawn(worker_pool, second_host_, limits::worker_hello_patience, setup_->edges);
  const auto plan = expand(make_chain({.stages = stages, .replicas = 1, .num_pipe_buffers = 2}));
  TROUPE_CHECK(plan.has_value(), "a chain of stages has a plan");
  for (const auto& owner : owners) {
    stage_actors_.push_back(system_.spawn(remote_stage, remote_stage_options{.at = owner.address,
                                                                             .incarnation = 0,
                                                                             .setup = setup_,
                                                                             .registry = registry_,
                                                                             .accounts = accounts,
                                                                             .depths = {},
                                                                             .place = place_in(*plan, owner.address),
                                                                             .sent = std::make_shared<handed_out>(),
                                                                             .pool = [this] { return pool_of_now(); },
                                                                             .director = director_,
                                                                             .aggregator = {}}));
  }
  settle();
}

fake_workers::~fake_workers() {
  for (const auto& stage : stage_actors_) caf::anon_send_exit(stage, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(pool_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(second_pool_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
  settle();
}

caf::scheduler::test_coordinator& fake_workers::scheduler() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
}

expected<worker_pool_actor> fake_workers::pool_of_now() const {
  switch (place_) {
    case place::first:
      return pool_;
    case place::second:
      return second_pool_;
    case place::none:
      break;
  }
  return fail(error_code::node_lost, "node w0", "no slot is left for its stages");
}

std::size_t fake_workers::alive() const {
  return static_cast<std::size_t>(std::ranges::count_if(host_->members, &worker::is_alive));
}

void fake_workers::says_hello(worker& one) {
  one.listener->said(one.worker, *codec::encode(worker_hello{.pid = one.worker->process(), .edge_contact = 0}));
  settle();
}

void fake_workers::ends(worker& one, exit_kind kind, int value) {
  one.is_alive = false;
  one.worker->takes_blobs = false;
  exit_report report;
  report.kind = kind;
  report.value = value;
  report.pid = static_cast<pid_t>(one.worker->process());
  one.listener->exited(one.worker, report);
  settle();
}

void fake_workers::begins(stage_address at) {
  const auto found = std::ranges::find(host_->members, worker_of(at), &worker::worker);
  found->worker->now.has_begun = true;
}

void fake_workers::is_shot(worker& one) {
  ends(one, exit_kind::signalled, SIGKILL);
}

void fake_workers::is_told_to_stop(stage_address at) {
  post(stage_actors_.at(at.stage), stop_request{stop_mode::abort});
  settle();
}

hosted_worker_ptr fake_workers::worker_of(stage_address at) const {
  const auto found = registry_->at(at);
  return found ? found->worker : nullptr;
}

void fake_workers::freeze(std::chrono::nanoseconds time) {
  scheduler().advance_time(time);
  settle();
}

void fake_workers::pass(std::chrono::nanoseconds time) {
  for (auto passed = 0ns; passed < time; passed += 100ms) freeze(100ms);
}

void fake_workers::breaks_link(worker& one) {
  one.listener->link_lost(one.worker);
  settle();
}

}  // namespace troupe::testing
