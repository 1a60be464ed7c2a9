#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launch/launch_message.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// How agents come to be on the other nodes. One thread at a time; nothing waits for a node.
class agent_starter {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  agent_starter() = default;
  agent_starter(const agent_starter&) = delete;
  agent_starter& operator=(const agent_starter&) = delete;
  virtual ~agent_starter() = default;

  /// A ticket for this node will come: what takes time before may begin.
  virtual void expect(const std::string& node) = 0;
  /// Lets an agent join by this ticket; it takes the place of an earlier one of its node. What goes wrong is told by
  /// look().
  virtual void start(const launch_ticket& ticket) = 0;
  virtual void on_joined(const std::string& node) = 0;
  /// Does the work that is due. Returns the agents that will not join any more.
  [[nodiscard]] virtual std::vector<launch_agent_failed> look(time_point now) = 0;
  /// When look() is to be called even if nothing has happened.
  [[nodiscard]] virtual std::optional<time_point> wakes_at() const = 0;
  /// The driver has ended: agents may leave, and no other one is started.
  virtual void release() = 0;
  /// None is left that this process has started.
  [[nodiscard]] virtual bool has_ended() const = 0;
};

}  // namespace troupe
