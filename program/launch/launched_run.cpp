#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "runtime/agent_host/agent_host.hpp"
#include "runtime/agent_host/provide_files.hpp"
#include "runtime/launch/explicit_placement.hpp"
#include "runtime/local_host/local_host.hpp"
#include "runtime/log/rank_logs.hpp"
#include "runtime/process/fork_server.hpp"

// What launched_nodes does for one run; launched_nodes.cpp has how its nodes come to be.
namespace troupe {
namespace {

using std::chrono::steady_clock;

/// What its agent told has a fix of its own.
error never_came(error why) {
  if (why.fix.empty()) {
    why.fix =
        "look at the node, at its agent's last lines and at the network between it and the driver, or raise "
        "--join-timeout";
  }
  return why;
}

/// The place of a node that did not join: nothing lives there.
class absent_host final : public worker_host {
 public:
  explicit absent_host(error why) : why_(std::move(why)) {}
  expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener>) override { return tl::make_unexpected(why_); }
  void refresh_telemetry(steady_clock::time_point) override {}
  void close() noexcept override {}
  bool stop(steady_clock::time_point, std::chrono::milliseconds) override { return true; }

 private:
  const error why_;
};

/// All that may live in workers, in the order of their ranks.
std::vector<stage_address> ranked(const wiring_plan& plan, const worker_setup& workers) {
  std::vector<stage_address> found;
  for (const wired_instance& each : plan.instances) {
    const bool is_source = plan.nodes[each.address.stage].kind == node_kind::source;
    if (!is_source && workers.is_remote(each.address)) found.push_back(each.address);
  }
  return found;
}

}  // namespace

expected<std::shared_ptr<node_agent>> launched_nodes::wait_for(std::size_t node) {
  const std::string& name = setup_.nodes[node].name;
  std::shared_ptr<node_agent> agent;
  {
    std::unique_lock lock{mutex_};
    const member& wanted = members_[node];
    changed_.wait_until(lock, join_deadline_, [&] { return wanted.agent || wanted.failure; });
    if (!wanted.agent) {
      const double seconds = std::chrono::duration<double>(setup_.join_timeout).count();
      error why = wanted.failure.value_or(node_failed(name, fmt::format("it did not join within {} s", seconds)));
      why.cause += refused_lately();
      return tl::make_unexpected(never_came(std::move(why)));
    }
    agent = wanted.agent;
  }
  // a later run may come long after the deadline
  const auto deadline = std::max(join_deadline_, steady_clock::now() + limits::control_request_timeout);
  return agent->wait_until_ready(deadline).map([&] { return std::move(agent); });
}

expected<std::shared_ptr<worker_host>> launched_nodes::open_own_host(std::size_t node, const worker_setup& workers,
                                                                     const log_function& log) {
  return local_host::create({.times = {workers.asked.timeout},
                             .log = log,
                             .environment = environment_of(node),
                             .home = home_,
                             .network = own_network_,
                             .ranks = own_ranks_,
                             .bind_cores = setup_.bind_cores,
                             .from = workers.from,
                             .next_rank =
                                 [this] {
                                   const std::lock_guard lock{mutex_};
                                   return next_rank_++;
                                 },
                             .around_link = workers.faults ? workers.faults->around_links() : nullptr})
      .map([](std::shared_ptr<local_host>&& made) { return std::shared_ptr<worker_host>(std::move(made)); });
}

expected<std::shared_ptr<worker_host>> launched_nodes::open_host(std::size_t node, const worker_setup& workers,
                                                                 const log_function& log) {
  if (node == setup_.driver_node) return open_own_host(node, workers, log);
  auto agent = TROUPE_TRY(wait_for(node));
  return std::make_shared<agent_host>(
      agent_host_options{.agent = std::move(agent),
                         .silence = workers.asked.timeout,
                         .log = log,
                         .has_control_faults = workers.faults && workers.faults->around_links() != nullptr,
                         .next_rank = [this] {
                           const std::lock_guard lock{mutex_};
                           return next_rank_++;
                         }});
}

expected<std::map<stage_address, std::size_t>> launched_nodes::place(const wiring_plan& plan,
                                                                     const worker_setup& workers) const {
  const std::vector<stage_address> stages = ranked(plan, workers);
  std::vector<ranked_stage> named;
  named.reserve(stages.size());
  for (const stage_address& each : stages) {
    named.push_back({.name = plan.nodes[each.stage].name,
                     .replica = each.replica,
                     .wanted = workers.wanted_node ? workers.wanted_node(each) : std::string()});
  }
  const auto placed = TROUPE_TRY(place_explicitly(setup_.placement, named, setup_.nodes));
  std::map<stage_address, std::size_t> first;
  for (std::size_t rank = 0; rank < stages.size(); ++rank) first.emplace(stages[rank], placed[rank]);
  return first;
}

std::vector<fault_shape::place> launched_nodes::places() const {
  std::vector<fault_shape::place> made;
  made.reserve(setup_.nodes.size());
  for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
    made.push_back({.name = setup_.nodes[node].name, .has_driver = node == setup_.driver_node});
  }
  return made;
}

bool launched_nodes::hurt(const fault& what) {
  const auto node = find(what.who.name);
  std::shared_ptr<node_agent> agent;
  if (node) {
    const std::lock_guard lock{mutex_};
    agent = members_[*node].agent;
  }
  if (!agent || agent->loss()) return false;
  const node_fault kind = what.kind == fault_kind::kill   ? node_fault::kill
                          : what.kind == fault_kind::stop ? node_fault::stop
                                                          : node_fault::partition;
  const auto lasts = std::chrono::ceil<std::chrono::milliseconds>(what.lasts.value_or(std::chrono::nanoseconds{0}));
  agent->tell(apply_fault{.fault = static_cast<std::uint32_t>(kind),
                          .with_workers = what.who.kind == fault_target_kind::node ? 1U : 0U,
                          .lasts_ms = static_cast<std::uint64_t>(lasts.count())});
  return true;
}

/// With --log-dir a file per rank takes what workers print.
expected<log_function> launched_nodes::log_of_ranks(log_function log) const {
  if (!setup_.log_dir) return log;
  return rank_logs::open(*setup_.log_dir).map([&](const std::shared_ptr<rank_logs>& files) -> log_function {
    return [files, log = std::move(log), tees = setup_.tee](log_record record) {
      const bool is_taken = files->take(record, log);
      if (!is_taken || tees) log(std::move(record));
    };
  });
}

expected<void> launched_nodes::go_on_without(std::size_t node, const error& why, stage_placement& places,
                                             const log_function& log) {
  places.lose(node, why);
  if (!places.has_room()) return tl::make_unexpected(why);
  log({.level = log_level::warning,
       .text = "node " + setup_.nodes[node].name + ": " + why.cause + "; its stages go to slots of other nodes"});
  return {};
}

expected<std::vector<std::shared_ptr<worker_host>>> launched_nodes::open_all(const worker_setup& workers,
                                                                             stage_placement& places,
                                                                             const log_function& log) {
  std::vector<std::shared_ptr<worker_host>> all;
  for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
    auto host = open_host(node, workers, log);
    if (!host) {
      const error why = host.error();
      if (why.code != error_code::node_lost) return tl::make_unexpected(why);
      TROUPE_TRY(go_on_without(node, why, places, log));
      if (const auto agent = agent_of(node)) agent->lose(why);
      host = std::make_shared<absent_host>(why);
    }
    all.push_back(std::move(*host));
  }
  return all;
}

/// Nodes may be lost while they get their files, too.
expected<void> launched_nodes::provide(const std::vector<file_identity>& files, stage_placement& places,
                                       const log_function& log) {
  const auto deadline = steady_clock::now() + limits::file_time_max;
  for (;;) {
    std::vector<std::shared_ptr<node_agent>> agents;
    for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
      const auto agent = agent_of(node);
      const auto loss = agent ? agent->loss() : std::nullopt;
      if (loss && !places.is_lost(node)) {
        TROUPE_TRY(go_on_without(node, *loss, places, log));
      }
      if (agent && !loss) agents.push_back(agent);
    }
    auto provided = provide_files(agents, files, deadline);
    const bool is_lost = std::ranges::any_of(agents, [](const auto& each) { return each->loss().has_value(); });
    if (provided || !is_lost) return provided;
  }
}

std::shared_ptr<node_agent> launched_nodes::agent_of(std::size_t node) const {
  const std::lock_guard lock{mutex_};
  return members_[node].agent;
}

expected<run_hosts> launched_nodes::open_hosts(const wiring_plan& plan, const worker_setup& workers,
                                               log_function to_log) {
  const auto with_files = TROUPE_TRY(log_of_ranks(std::move(to_log)));
  const log_function& log = with_files;
  {
    const std::lock_guard lock{mutex_};
    log_ = log;
    for (log_record& each : std::exchange(unsaid_, {})) log(std::move(each));
  }
  auto first = TROUPE_TRY(place(plan, workers));
  std::vector<stage_placement::placed_node> nodes;
  for (const node_slots& each : setup_.nodes)
    nodes.push_back({each.name, static_cast<std::uint32_t>(each.slots.size())});
  const auto places = std::make_shared<stage_placement>(std::move(nodes), std::move(first), setup_.allow_shrink);
  auto all = TROUPE_TRY(open_all(workers, *places, log));
  TROUPE_TRY(provide(workers.files, *places, log));
  for (std::size_t node = 0; node < members_.size(); ++node) {
    const auto agent = agent_of(node);
    if (agent) agent->on_lost([places, node](const error& why) { places->lose(node, why); });
  }
  run_hosts made{.all = std::move(all), .find = {}};
  made.refused_lately = [this] { return refused_lately(); };
  made.find = [places](stage_address at) { return places->node_for(at); };
  made.hurt_node = [this](const fault& what) { return hurt(what); };
  return made;
}

}  // namespace troupe
