#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "runtime/launch/launch_setup.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// To the launcher: the node needs an agent, which joins with this ticket (runtime/join/join_ticket.hpp; a secret).
/// A second one for a node replaces its agent.
struct launch_ticket {
  std::string node;
  std::string text;
  friend bool operator==(const launch_ticket&, const launch_ticket&) = default;
};

/// To the launcher: the agent of the node has joined.
struct launch_joined {
  std::string node;
  friend bool operator==(const launch_joined&, const launch_joined&) = default;
};

/// To the launcher: the node is about to be taken away, so the launch is to end as by SIGTERM.
struct launch_end_asked {
  std::string node;
  friend bool operator==(const launch_end_asked&, const launch_end_asked&) = default;
};

/// To the driver: no agent came to be on the node, or it has ended before it has joined. `why` is node_failed().
struct launch_agent_failed {
  std::string node;
  error why;
  friend bool operator==(const launch_agent_failed& one, const launch_agent_failed& other) {
    return one.node == other.node && one.why.code == other.why.code && one.why.where == other.why.where &&
           one.why.cause == other.why.cause && one.why.fix == other.why.fix;
  }
};

/// E0618 of this node.
[[nodiscard]] inline error node_failed(const std::string& node, std::string cause, std::string fix = {}) {
  return {error_code::node_lost, "node " + node, std::move(cause), std::move(fix)};
}

/// To the driver: the launcher was told to end by this signal. The driver gets SIGINT, or SIGTERM for all others, as
/// well.
struct launch_stop {
  int signal = 0;
  friend bool operator==(const launch_stop&, const launch_stop&) = default;
};

/// launch_setup is the first message to the driver.
using launch_message =
    std::variant<launch_setup, launch_ticket, launch_joined, launch_end_asked, launch_agent_failed, launch_stop>;

/// The message as one line of JSON, with its end: {"joined":"w1"}\n. E0103 for a text that is not UTF-8, but in
/// an error, where U+FFFD replaces bytes that are not; E0701 for more than limits::launch_line_bytes_max.
[[nodiscard]] expected<std::string> encode(const launch_message& message);

/// Takes what encode() gives, without the end of the line. E0701 for a longer text, E0702 for anything else. No message
/// has a part of the text, which may be a secret.
[[nodiscard]] expected<launch_message> parse_launch_message(std::string_view line);

}  // namespace troupe
