#include "fake_workers.hpp"

#include <algorithm>
#include <csignal>

#include "actors/workers/wire_codec.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"

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
          [](const call_completed&) {},
          [](const stopped&) {}};
}

wire_actor::behavior_type deaf_worker(wire_actor::pointer) {
  return {[](const wire_message&) {}};
}

}  // namespace

fake_workers::fake_workers(std::uint32_t stages) {
  auto host = process_host::create();
  TROUPE_CHECK(host.has_value(), "the system gives one more thread");
  host_ = std::move(*host);
  scheduler().clock().current_time += 1h;
  setup_->assignment = [](stage_address) { return assignment_data{}; };
  std::vector<stage_accounts::owner> owners;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    owners.push_back({"stage " + std::to_string(stage), {stage, 0}});
  }
  const auto accounts = std::make_shared<stage_accounts>(owners);
  director_ = system_.spawn(noting_director, news_);
  const worker_source source = [this](auto on_exit) { return launch(std::move(on_exit)); };
  pool_ = system_.spawn(worker_pool, source, limits::worker_hello_patience, false);
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
                                                                             .pool = pool_,
                                                                             .director = director_,
                                                                             .aggregator = {}}));
  }
  settle();
}

fake_workers::~fake_workers() {
  for (const auto& stage : stage_actors_) caf::anon_send_exit(stage, caf::exit_reason::user_shutdown);
  for (worker& one : workers_) caf::anon_send_exit(one.actor, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(pool_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(director_, caf::exit_reason::user_shutdown);
  settle();
}

caf::scheduler::test_coordinator& fake_workers::scheduler() {
  return dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
}

expected<launched_worker> fake_workers::launch(decltype(worker::on_exit) on_exit) {
  auto channel = fd_channel::make();
  if (!channel) return tl::make_unexpected(channel.error());
  const std::string number = std::to_string(workers_.size());
  const auto rank = static_cast<std::uint32_t>(workers_.size());
  auto process = std::make_shared<worker_process>("worker " + number, std::move(channel->first), *host_, rank);
  process->listen({.on_line = [this](const log_record& record) { log_.push_back(to_string(record)); }, .on_exit = {}});
  workers_.push_back({process, std::move(on_exit), std::move(channel->second), system_.spawn(deaf_worker),
                      1000 + static_cast<pid_t>(workers_.size())});
  return launched_worker{process, unique_fd()};
}

std::size_t fake_workers::alive() const {
  return static_cast<std::size_t>(std::ranges::count_if(workers_, &worker::is_alive));
}

void fake_workers::says_hello(worker& one) {
  const auto hello = to_wire(worker_hello{.pid = 1, .edge_port = 0});
  post(pool_, worker_said{one.process, one.actor, *hello});
  settle();
}

void fake_workers::ends(worker& one, exit_kind kind, int value) {
  one.is_alive = false;
  one.channel.reset();
  exit_report report;
  report.kind = kind;
  report.value = value;
  report.pid = one.pid;
  one.on_exit(one.process, report);
  settle();
}

void fake_workers::is_shot(worker& one) {
  ends(one, exit_kind::signalled, SIGKILL);
}

void fake_workers::is_told_to_stop(stage_address at) {
  post(stage_actors_.at(at.stage), stop_request{stop_mode::drain});
  settle();
}

std::shared_ptr<worker_process> fake_workers::worker_of(stage_address at) const {
  const auto found = registry_->at(at);
  return found ? found->process : nullptr;
}

void fake_workers::freeze(std::chrono::nanoseconds time) {
  scheduler().advance_time(time);
  settle();
}

void fake_workers::pass(std::chrono::nanoseconds time) {
  for (auto passed = 0ns; passed < time; passed += 100ms) freeze(100ms);
}

void fake_workers::breaks_link(worker& one) {
  caf::anon_send_exit(one.actor, caf::exit_reason::kill);
  settle();
}

}  // namespace troupe::testing
