#include "program/launch/launched_nodes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "messages/version.hpp"
#include "runtime/join/find_nodes.hpp"
#include "runtime/join/host_resolver.hpp"
#include "runtime/join/join_service.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/join/node_identity.hpp"
#include "runtime/log/refusal_limit.hpp"
#include "runtime/os/blocked_signals.hpp"
#include "runtime/os/file_hash.hpp"
#include "runtime/os/resource_check.hpp"
#include "runtime/process/error_line.hpp"
#include "runtime/process/own_arguments.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

/// Names that take longer to resolve have their seats from then on: a launch does not wait for a slow resolver.
constexpr std::chrono::milliseconds wait_for_names = std::chrono::seconds(2);

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

/// The program of this process, as other nodes find it.
std::string path_of_program() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

std::string working_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

/// The links, and all that may come to the listener meanwhile.
resource_needs needs_of_nodes(std::size_t nodes) {
  constexpr std::size_t own_files = 16;
  constexpr std::size_t strangers = 2 * (limits::tcp_untrusted_peers_max + limits::tcp_waiting_peers_max);
  return {.where = std::to_string(nodes) + " nodes", .descriptors = nodes + strangers + own_files};
}

}  // namespace

expected<launched_nodes*> launched_nodes::open(const launch_environment& environment,
                                               std::shared_ptr<const payload_codec> codec) {
  const blocked_signals none_in_its_threads;
  auto channel = TROUPE_TRY(driver_channel::open(environment, steady_clock::now() + limits::launch_setup_timeout));
  TROUPE_TRY(ensure_resources(needs_of_nodes(channel->setup().nodes.size())));
  auto authority = TROUPE_TRY(job_authority::make());
  auto* const made = new launched_nodes(std::move(channel), std::move(authority));
  return made->listen(std::move(codec))
      .and_then([made] { return made->make_own_network(); })
      .and_then([made] { return made->tell_tickets(); })
      .and_then([made] { return made->describe_workers(); })
      .and_then([made] { return made->end_with_launcher(); })
      .map([made] { return made; });
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
  auto own = TROUPE_TRY(authority_->make_driver_credentials());
  const bool is_alone = setup_.nodes.size() == 1 && setup_.driver_node.has_value();
  home_.address = TROUPE_TRY(is_alone ? expected<std::string>("127.0.0.1") : address_for_edges(setup_.addresses));
  const bool is_v6 = home_.address.find(':') != std::string::npos;
  tcp_endpoint_options options;
  options.address = is_alone ? "127.0.0.1" : is_v6 ? "::" : "0.0.0.0";
  options.port = setup_.port;
  options.tls = std::move(own);
  options.codec = std::move(codec);
  options.node_of = node_of_certificate;
  options.expected_peers = expected_;
  TROUPE_TRY(find_expected());
  options.on_refused = [this, told = refusal_limit()](const error& why) mutable {
    refused_.note(steady_clock::now());
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
  endpoint_ = TROUPE_TRY(tcp_endpoint::open(std::move(options)));
  return {};
}

/// Addresses of the nodes that the hostfile names.
expected<void> launched_nodes::find_expected() {
  std::vector<std::string> names;
  for (const node_slots& each : setup_.nodes) names.push_back(each.name);
  expected_->add(home_.address);
  return find_nodes(names, expected_, join_deadline_, wait_for_names);
}

std::string launched_nodes::refused_lately() const {
  const std::uint64_t count = refused_.at(steady_clock::now());
  if (count == 0) return {};
  return "; the driver refused " + std::to_string(count) + " connections of strangers in the last " +
         std::to_string(recent_count::span.count()) + " s";
}

/// Workers of this host show the name of its node, as those of any other node do, and not the driver's.
expected<void> launched_nodes::make_own_network() {
  if (!setup_.driver_node) return {};
  own_ranks_ = std::make_shared<local_ranks>(ranks_of(*setup_.driver_node));
  const auto name = TROUPE_TRY(peer_name::of_node(home_.node));
  const auto identity = TROUPE_TRY(node_identity::make());
  const auto request = TROUPE_TRY(identity.request());
  const auto certificate = TROUPE_TRY(authority_->issue(request, home_.node));
  auto credentials = TROUPE_TRY(identity.credentials(certificate, authority_->certificate(), name));
  const node_network own{
      .node = home_.node, .address = home_.address, .credentials = std::move(credentials), .node_of = {}};
  return memory_file::make("troupe-network", to_text(own)).map([this](memory_file&& made) {
    own_network_ = std::make_shared<const memory_file>(std::move(made));
  });
}

expected<void> launched_nodes::tell_tickets() {
  const auto lifetime = std::chrono::ceil<std::chrono::seconds>(setup_.join_timeout);
  for (std::size_t node = 0; node < setup_.nodes.size(); ++node) {
    if (node == setup_.driver_node) continue;
    auto ticket = TROUPE_TRY(tickets_->issue(setup_.nodes[node].name, lifetime));
    ticket.target.port = endpoint_->port();  // known since the book was made
    const auto text = TROUPE_TRY(to_text(ticket));
    auto told = channel_->send(launch_ticket{.node = setup_.nodes[node].name, .text = std::string(text.view())});
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
  common.program_hash = TROUPE_TRY(sha256_of_file("/proc/self/exe", error_code::process_failed));
  std::vector<node_link> early;
  {
    const std::lock_guard lock{mutex_};
    common_ = std::move(common);
    early.swap(early_);
  }
  for (node_link& each : early) joined(std::move(each));
  return {};
}

expected<void> launched_nodes::end_with_launcher() {
  return channel_->listen({.on_agent_failed = [this](const launch_agent_failed& what) { failed(what); },
                           .on_stop = nullptr,  // the signal came as well
                           .on_closed =
                               [](const error& why) {
                                 std::fputs(last_words(why).c_str(), stderr);
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
  if (const auto node = find(link.node)) return admit(*node, link);
  link.link->close();
}

/// A node that was lost does not come back: its stages live elsewhere.
void launched_nodes::admit(std::size_t node, const node_link& link) {
  expected_->add(link.address);  // its workers come from there
  const auto agent = std::make_shared<node_agent>(host_place{.node = link.node, .address = link.address}, link.link,
                                                  [this](log_record record) { say(std::move(record)); });
  {
    const std::lock_guard lock{mutex_};
    if (members_[node].agent) return link.link->close();
    members_[node].agent = agent;
  }
  agent->on_end_asked([this, name = link.node] { static_cast<void>(channel_->send(launch_end_asked{name})); });
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
    members_[*node].failure = what.why;
    agent = members_[*node].agent;
  }
  changed_.notify_all();
  if (agent) agent->lose(what.why);
}

/// Before the first run there is no log yet.
void launched_nodes::say(log_record record) {
  const std::lock_guard lock{mutex_};
  if (log_) return log_(std::move(record));
  if (unsaid_.size() < limits::log_lines_max) unsaid_.push_back(std::move(record));
}

}  // namespace troupe
