#include "launch_flags.hpp"

#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "count_flag.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe::cli {
namespace {

using seconds = std::chrono::duration<double>;

std::optional<std::string> text_if_given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string help_with_default(const char* help, std::chrono::milliseconds value) {
  return fmt::format("{} [{:g}]", help, seconds(value).count());
}

/// Leaves `into` where nothing was given.
template <class Time>
expected<void> read_time(std::string_view name, const std::string& text, double minimum, Time& into) {
  if (text.empty()) return {};
  into = TROUPE_TRY(read_seconds(name, text, minimum));
  return {};
}

}  // namespace

launch_flags::launch_flags(parser& into) : nodes_(into, "The nodes: lines NAME slots=N") {
  into.add_text("--ssh", ssh_, "Starts agents in place of ssh, as CMD HOST COMMAND", "CMD");
  into.add_toggle(both_spellings("--no-ssh"), no_ssh_, "This command is given on every node");
  into.add_text(both_spellings("--node-rank"), node_rank_, "Which node this is; 0 has the driver", "N");
  into.add_text(both_spellings("--join-file"), join_file_, "Tickets are FILE.1, FILE.2, ... in a shared directory",
                "FILE");
  into.add_texts("--address", addresses_, "Where nodes find this host; may be repeated", "HOST");
  into.add_text("--port", port_, "On which the driver listens; 0: any [0]", "PORT");
  into.add_texts("--env", variables_, "A variable for all nodes, beside TROUPE_*, OMP_*, MKL_*, NCCL_*",
                 "NAME[=VALUE]");
  into.add_text(both_spellings("--join-timeout"), join_timeout_,
                help_with_default("Until all nodes have joined", limits::launch_join_timeout), "SECONDS");
  into.add_text(both_spellings("--worker-timeout"), worker_timeout_, "Silence after which a node is lost", "SECONDS");
  into.add_text("--grace", grace_, help_with_default("From a signal until the driver is killed", limits::launch_grace),
                "SECONDS");
  into.add_toggle(both_spellings("--allow-shrink"), allow_shrink_, "Stages of a lost node may share slots");
  into.add_text("--placement", placement_, "Which stages go where", "TEXT");
  into.add_toggle(both_spellings("--bind-cores"), bind_cores_, "Each worker has cores of its own");
  into.add_text(both_spellings("--log-dir"), log_dir_, "Output of ranks goes to files there", "DIR");
  into.add_toggle("--tee", tee_, "Output of ranks goes to stderr as well");
}

expected<launch_choice> launch_flags::choice() const {
  auto filter = TROUPE_TRY(nodes_.filter());
  launch_choice made{nodes_.hostfile(), std::move(filter), !ssh_.empty(),
                     no_ssh_,           std::nullopt,      text_if_given(join_file_)};
  if (node_rank_.empty()) return made;
  const auto rank = TROUPE_TRY(read_number("node_rank", node_rank_, limits::launch_nodes_max - 1));
  made.node_rank = static_cast<std::uint32_t>(rank);
  return made;
}

expected<launch_setup> launch_flags::setup() const {
  launch_setup made;
  made.join_timeout = limits::launch_join_timeout;
  made.grace = limits::launch_grace;
  made.allow_shrink = allow_shrink_;
  made.placement = text_if_given(placement_);
  made.bind_cores = bind_cores_;
  made.log_dir = text_if_given(log_dir_);
  made.tee = tee_;
  const auto port =
      TROUPE_TRY(read_number("port", port_.empty() ? "0" : port_, std::numeric_limits<std::uint16_t>::max()));
  made.port = static_cast<std::uint16_t>(port);
  return read_time("join_timeout", join_timeout_, limits::deadline_seconds_min, made.join_timeout)
      .and_then(
          [&] { return read_time("worker_timeout", worker_timeout_, limits::worker_timeout_min, made.worker_timeout); })
      .and_then([&] { return read_time("grace", grace_, 0, made.grace); })
      .map([&] { return std::move(made); });
}

std::optional<std::string> launch_flags::ssh_command() const {
  return text_if_given(ssh_);
}

}  // namespace troupe::cli
