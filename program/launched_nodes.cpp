#include "program/launched_nodes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/version.hpp"
#include "runtime/agent_host/agent_host.hpp"
#include "runtime/agent_host/provide_files.hpp"
#include "runtime/join/host_resolver.hpp"
#include "runtime/join/join_service.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/join/node_identity.hpp"
#include "runtime/journal/file_hash.hpp"
#include "runtime/launch/explicit_placement.hpp"
#include "runtime/launch/placement.hpp"
#include "runtime/local_host/local_host.hpp"
#include "runtime/log/rank_logs.hpp"
#include "runtime/log/refusal_limit.hpp"
#include "runtime/os/blocked_signals.hpp"
#include "runtime/process/own_arguments.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

/// To the end of the process: threads of other nodes' links use it.
launched_nodes*& the_launch() noexcept {
  static launched_nodes* of_this_process = nullptr;
  return of_this_process;
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

/// Where other nodes find edges of this host: numeric, as its own name may mean loopback here and something else there.
expected<std::string> address_for_edges(const std::vector<std::string>& addresses) {
  const auto until = steady_clock::now() + limits::own_address_timeout;
  for (const std::string& each : addresses) {
    const auto found = host_resolver(each).find(until);
    if (!found) continue;
    const auto usable = std::ranges::find_if_not(*found, is_loopback);
    if (usable != found->end()) return *usable;
    if (is_loopback(each)) return each;  // a launch on this host alone, whose nodes are names for it
  }
  return fail(error_code::config_bad_value, "--address", addresses.front() + " leads to no address of this host",
              "give a numeric address that the other nodes reach");
}

/// Of the process, as other nodes find it.
std::string path_of_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

std::string working_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

error never_came(const std::string& node, std::string cause) {
  return {error_code::node_lost, "node " + node, std::move(cause),
          "look at the node, at its agent's last lines and at the network between it and the driver, or raise "
          "--join-timeout"};
}

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

launched_nodes* launched_nodes::get() noexcept {
  return the_launch();
}

expected<void> launched_nodes::open(const launch_environment& environment, std::shared_ptr<const payload_codec> codec) {
  TROUPE_CHECK(the_launch() == nullptr, "a process is the driver of one launch");
  const blocked_signals none_in_its_threads;
  auto channel = driver_channel::open(environment, steady_clock::now() + limits::launch_setup_timeout);
  if (!channel) return tl::make_unexpected(channel.error());
  auto authority = job_authority::make();
  if (!authority) return tl::make_unexpected(authority.error());
  auto* const made = new launched_nodes(std::move(*channel), std::move(*authority));
  the_launch() = made;
  return made->listen(std::move(codec))
      .and_then([made] { return made->make_own_network(); })
      .and_then([made] { return made->tell_tickets(); })
      .and_then([made] { return made->describe_workers(); })
      .and_then([made] { return made->heed_launcher(); });
}

launched_nodes::launched_nodes(std::unique_ptr<driver_channel> channel, job_authority authority)
    : join_deadline_(steady_clock::now() + channel->setup().join_timeout),
      channel_(std::move(channel)),
      setup_(channel_->setup()),
      authority_(std::make_shared<job_authority>(std::move(authority))),
      tickets_(std::make_shared<ticket_book>(
          join_target{.addresses = setup_.addresses, .port = 0, .authority = authority_->fingerprint()})),
      members_(setup_.nodes.size()) {
  if (setup_.driver_node) home_.node = setup_.nodes[*setup_.driver_node].name;
}

// --- before nodes join -----------------------------------------------------------------------------------------------

/// A launch of this host alone needs nothing that others can reach.
expected<void> launched_nodes::listen(std::shared_ptr<const payload_codec> codec) {
  auto own = authority_->make_driver_credentials();
  if (!own) return tl::make_unexpected(own.error());
  const bool is_alone = setup_.nodes.size() == 1 && setup_.driver_node.has_value();
  auto address = is_alone ? expected<std::string>("127.0.0.1") : address_for_edges(setup_.addresses);
  if (!address) return tl::make_unexpected(address.error());
  home_.address = std::move(*address);
  const bool is_v6 = home_.address.find(':') != std::string::npos;
  tcp_endpoint_options options;
  options.address = is_alone ? "127.0.0.1" : is_v6 ? "::" : "0.0.0.0";
  options.port = setup_.port;
  options.tls = std::move(*own);
  options.codec = std::move(codec);
  options.node_of = node_of_certificate;
  options.on_refused = [this, told = refusal_limit()](const error& why) mutable {
    for (std::string& line : told.take(why, steady_clock::now()))
      say({.level = log_level::warning, .text = std::move(line)});
  };
  const liveness times{setup_.worker_timeout.value_or(limits::worker_silence_timeout)};
  options.links = make_link_acceptor(times, [this](node_link link) { joined(std::move(link)); });
  options.joins = make_join_service(
      {.tickets = tickets_,
       .authority = authority_,
       .version = version_text(),
       .on_other_version = [this](const error& why) { say({.level = log_level::warning, .text = to_string(why)}); }});
  auto endpoint = tcp_endpoint::open(std::move(options));
  if (!endpoint) return tl::make_unexpected(endpoint.error());
  endpoint_ = std::move(*endpoint);
  return {};
}

/// Workers of this host show the name of its node, as those of any other node do, and not the driver's.
expected<void> launched_nodes::make_own_network() {
  if (!setup_.driver_node) return {};
  own_ranks_ = std::make_shared<local_ranks>(ranks_of(*setup_.driver_node));
  const auto name = peer_name::of_node(home_.node);
  if (!name) return tl::make_unexpected(name.error());
  const auto identity = node_identity::make();
  if (!identity) return tl::make_unexpected(identity.error());
  const auto request = identity->request();
  if (!request) return tl::make_unexpected(request.error());
  const auto certificate = authority_->issue(*request, home_.node);
  if (!certificate) return tl::make_unexpected(certificate.error());
  auto credentials = identity->credentials(*certificate, authority_->certificate(), *name);
  if (!credentials) return tl::make_unexpected(credentials.error());
  const node_network own{
      .node = home_.node, .address = home_.address, .credentials = std::move(*credentials), .node_of = {}};
  return memory_file::make("troupe-network", to_text(own)).map([this](memory_file&& made) {
    own_network_ = std::make_shared<const memory_file>(std::move(made));
  });
}

expected<void> launched_nodes::tell_tickets() {
  const auto lifetime = std::chrono::ceil<std::chrono::seconds>(setup_.join_timeout);
  for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
    if (node == setup_.driver_node) continue;
    auto ticket = tickets_->issue(setup_.nodes[node].name, lifetime);
    if (!ticket) return tl::make_unexpected(ticket.error());
    ticket->target.port = endpoint_->port();  // known since the book was made
    const auto text = to_text(*ticket);
    if (!text) return tl::make_unexpected(text.error());
    auto told = channel_->send(launch_ticket{.node = setup_.nodes[node].name, .text = std::string(text->view())});
    if (!told) return told;
  }
  return {};
}

/// After the tickets: agents are on their way while the program is read.
expected<void> launched_nodes::describe_workers() {
  agent_setup common{.program = path_of_program(),
                     .program_hash = {},
                     .directory = working_directory(),
                     .arguments = own_arguments(),
                     .environment = {}};
  auto hash = sha256_of_file("/proc/self/exe", error_code::process_failed);
  if (!hash) return tl::make_unexpected(hash.error());
  common.program_hash = std::move(*hash);
  std::vector<node_link> early;
  {
    const std::lock_guard lock{mutex_};
    common_ = std::move(common);
    early.swap(early_);
  }
  for (node_link& each : early) joined(std::move(each));
  return {};
}

expected<void> launched_nodes::heed_launcher() {
  return channel_->listen({.on_agent_failed = [this](const launch_agent_failed& what) { failed(what); },
                           .on_stop = nullptr,  // the signal came as well
                           .on_closed =
                               [](const error& why) {
                                 std::fprintf(stderr, "%s\n", to_string(why).c_str());
                                 std::fflush(stderr);
                                 std::_Exit(static_cast<int>(exit_status::failure));
                               }});
}

node_ranks launched_nodes::ranks_of(std::size_t node) const {
  node_ranks found{
      .slots = static_cast<std::uint32_t>(setup_.nodes[node].slots.size()), .first_rank = 0, .world_size = 0};
  for (std::size_t other = 0; other < setup_.nodes.size(); ++other) {
    const auto slots = static_cast<std::uint32_t>(setup_.nodes[other].slots.size());
    if (other < node) found.first_rank += slots;
    found.world_size += slots;
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> launched_nodes::environment_of(std::size_t node) const {
  auto variables = setup_.environment;
  variables.emplace_back("NODE_RANK", std::to_string(node));
  variables.emplace_back("MASTER_ADDR", setup_.addresses.front());
  return variables;
}

agent_setup launched_nodes::setup_for(std::size_t node) const {
  agent_setup made = *common_;
  for (const auto& [name, value] : environment_of(node)) made.environment.push_back({name, value});
  const node_ranks ranks = ranks_of(node);
  made.slots = ranks.slots;
  made.first_rank = ranks.first_rank;
  made.world_size = ranks.world_size;
  made.bind_cores = setup_.bind_cores ? 1 : 0;
  return made;
}

// --- nodes join, and fail to: threads of the endpoint and of the channel ---------------------------------------------

std::optional<std::size_t> launched_nodes::find(const std::string& name) const {
  const auto found = std::ranges::find(setup_.nodes, name, &node_slots::name);
  if (found == setup_.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - setup_.nodes.begin());
}

void launched_nodes::joined(node_link link) {
  {
    const std::lock_guard lock{mutex_};
    if (!common_) return early_.push_back(std::move(link));
  }
  if (const auto node = find(link.node)) return admit(*node, std::move(link));
  link.link->close();
}

/// A node that was lost does not come back: its stages live elsewhere.
void launched_nodes::admit(std::size_t node, node_link link) {
  const auto agent = std::make_shared<node_agent>(host_place{.node = link.node, .address = link.address}, link.link,
                                                  [this](log_record record) { say(std::move(record)); });
  {
    const std::lock_guard lock{mutex_};
    if (members_[node].agent) return link.link->close();
    members_[node].agent = agent;
  }
  agent->set_up(setup_for(node));
  static_cast<void>(channel_->send(launch_joined{link.node}));
  changed_.notify_all();
}

void launched_nodes::failed(const launch_agent_failed& what) {
  const auto node = find(what.node);
  if (!node) return;
  std::shared_ptr<node_agent> agent;
  {
    const std::lock_guard lock{mutex_};
    members_[*node].failure = what.cause;
    agent = members_[*node].agent;
  }
  changed_.notify_all();
  if (agent) agent->lose({error_code::peer_lost, {}, what.cause, {}});
}

/// Before the first run there is no log yet.
void launched_nodes::say(log_record record) {
  const std::lock_guard lock{mutex_};
  if (log_) return log_(std::move(record));
  if (unsaid_.size() < limits::log_lines_max) unsaid_.push_back(std::move(record));
}

// --- a run -----------------------------------------------------------------------------------------------------------

expected<std::shared_ptr<node_agent>> launched_nodes::wait_for(std::size_t node) {
  const std::string& name = setup_.nodes[node].name;
  std::shared_ptr<node_agent> agent;
  {
    std::unique_lock lock{mutex_};
    const member& wanted = members_[node];
    changed_.wait_until(lock, join_deadline_, [&] { return wanted.agent || !wanted.failure.empty(); });
    if (!wanted.agent) {
      const double seconds = std::chrono::duration<double>(setup_.join_timeout).count();
      return tl::make_unexpected(never_came(
          name, wanted.failure.empty() ? fmt::format("it did not join within {} s", seconds) : wanted.failure));
    }
    agent = wanted.agent;
  }
  // a later run may come long after the deadline
  const auto deadline = std::max(join_deadline_, steady_clock::now() + limits::control_request_timeout);
  return agent->wait_until_ready(deadline).map([&] { return std::move(agent); });
}

expected<std::shared_ptr<worker_host>> launched_nodes::open_own_host(std::size_t node, const worker_setup& workers,
                                                                     const log_function& log) {
  return local_host::create({.times = {workers.silence_timeout},
                             .log = log,
                             .environment = environment_of(node),
                             .home = home_,
                             .network = own_network_,
                             .ranks = own_ranks_,
                             .bind_cores = setup_.bind_cores,
                             .next_rank =
                                 [this] {
                                   const std::lock_guard lock{mutex_};
                                   return next_rank_++;
                                 }})
      .map([](std::shared_ptr<local_host>&& made) { return std::shared_ptr<worker_host>(std::move(made)); });
}

expected<std::shared_ptr<worker_host>> launched_nodes::open_host(std::size_t node, const worker_setup& workers,
                                                                 const log_function& log) {
  if (node == setup_.driver_node) return open_own_host(node, workers, log);
  auto agent = wait_for(node);
  if (!agent) return tl::make_unexpected(agent.error());
  return std::make_shared<agent_host>(agent_host_options{
      .agent = std::move(*agent), .silence = workers.silence_timeout, .log = log, .next_rank = [this] {
        const std::lock_guard lock{mutex_};
        return next_rank_++;
      }});
}

expected<std::map<stage_address, std::size_t>> launched_nodes::place(const wiring_plan& plan,
                                                                     const worker_setup& workers) const {
  const std::vector<stage_address> stages = ranked(plan, workers);
  std::map<stage_address, std::size_t> first;
  if (!setup_.placement) {
    const auto placed = place_ranks(stages.size(), setup_.nodes);
    if (!placed) return tl::make_unexpected(placed.error());
    for (std::size_t rank = 0; rank < stages.size(); ++rank) first.emplace(stages[rank], placed->ranks[rank].node);
    return first;
  }
  std::vector<ranked_stage> named;
  for (const stage_address& each : stages) named.push_back({plan.nodes[each.stage].name, each.replica});
  const auto placed = place_explicitly(*setup_.placement, named, setup_.nodes);
  if (!placed) return tl::make_unexpected(placed.error());
  for (std::size_t rank = 0; rank < stages.size(); ++rank) first.emplace(stages[rank], (*placed)[rank]);
  return first;
}

/// With --log-dir a file per rank takes what workers print.
expected<log_function> launched_nodes::log_of_ranks(log_function log) const {
  if (!setup_.log_dir) return log;
  return rank_logs::open(*setup_.log_dir).map([&](const std::shared_ptr<rank_logs>& files) -> log_function {
    return [files, log = std::move(log), tees = setup_.tee](log_record record) {
      const bool is_taken = files->take(record);
      if (!is_taken || tees) log(std::move(record));
    };
  });
}

expected<void> launched_nodes::provide(const std::vector<file_identity>& files) {
  std::vector<std::shared_ptr<node_agent>> agents;
  {
    const std::lock_guard lock{mutex_};
    for (const member& each : members_) {
      if (each.agent) agents.push_back(each.agent);
    }
  }
  return provide_files(agents, files, steady_clock::now() + limits::file_time_max);
}

expected<run_hosts> launched_nodes::open_hosts(const wiring_plan& plan, const worker_setup& workers,
                                               log_function to_log) {
  const auto with_files = log_of_ranks(std::move(to_log));
  if (!with_files) return tl::make_unexpected(with_files.error());
  const log_function& log = *with_files;
  {
    const std::lock_guard lock{mutex_};
    log_ = log;
    for (log_record& each : std::exchange(unsaid_, {})) log(std::move(each));
  }
  auto first = place(plan, workers);
  if (!first) return tl::make_unexpected(first.error());
  std::vector<stage_placement::placed_node> nodes;
  run_hosts made;
  for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
    auto host = open_host(node, workers, log);
    if (!host) return tl::make_unexpected(host.error());
    made.all.push_back(std::move(*host));
    nodes.push_back({setup_.nodes[node].name, static_cast<std::uint32_t>(setup_.nodes[node].slots.size())});
  }
  if (auto provided = provide(workers.files); !provided) return tl::make_unexpected(provided.error());
  const auto places = std::make_shared<stage_placement>(std::move(nodes), std::move(*first), setup_.allow_shrink);
  for (std::size_t node = 0; node < members_.size(); ++node) {
    const auto agent = members_[node].agent;
    if (agent) agent->on_lost([places, node](const error& why) { places->lose(node, why); });
  }
  made.find = [places](stage_address at) { return places->node_for(at); };
  return made;
}

}  // namespace troupe
