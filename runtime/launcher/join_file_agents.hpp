#pragma once

#include <utility>

#include "messages/error_text.hpp"
#include "runtime/launcher/agent_starter.hpp"
#include "runtime/launcher/join_files.hpp"

namespace troupe {

/// Agents that were started by hand or by a scheduler, and wait for their files. Whether they do is unknown here.
class join_file_agents final : public agent_starter {
 public:
  explicit join_file_agents(join_files files) : files_(std::move(files)) {}

  void expect(const std::string&) override {}
  void start(const launch_ticket& ticket) override {
    if (auto written = files_.write(ticket.node, ticket.text); !written)
      failed_.push_back({ticket.node, node_failed(ticket.node, brief(written.error()), written.error().fix)});
  }
  void on_joined(const std::string& node) override { files_.remove(node); }
  std::vector<launch_agent_failed> look(time_point) override { return std::exchange(failed_, {}); }
  [[nodiscard]] std::optional<time_point> wakes_at() const override { return std::nullopt; }
  void release() override {}
  [[nodiscard]] bool has_ended() const override { return true; }

 private:
  join_files files_;
  std::vector<launch_agent_failed> failed_;
};

}  // namespace troupe
