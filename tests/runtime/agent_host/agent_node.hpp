// A node in this process: an agent on a thread, its mirror as a driver has it, and the link between them; its workers
// are processes (tests/runtime/agent/agent_probe.cpp).
#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/wait.h>

#include "runtime/agent/agent.hpp"
#include "runtime/agent_host/agent_host.hpp"
#include "runtime/os/file_hash.hpp"
#include "tests/runtime/agent_host/noted_events.hpp"

#ifndef AGENT_PROBE
#define AGENT_PROBE ""  // the build names the program
#endif

namespace troupe::testing {

/// Of workers and agents: long enough for a slow machine, with heartbeats of a second.
inline constexpr std::chrono::milliseconds silence{10'000};

inline agent_setup probe_setup(std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), {"agent_probe", std::to_string(silence.count())});
  return {.program = AGENT_PROBE,
          .program_hash = *sha256_of_file(AGENT_PROBE, error_code::worker_mismatch),
          .directory = std::filesystem::current_path().string(),
          .arguments = std::move(arguments),
          .environment = {},
          .slots = 1,
          .first_rank = 0,
          .world_size = 1};
}

/// Of this process, which has none but workers.
inline bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

class agent_node {
 public:
  agent_node() {
    auto sockets = std::move(*make_link_sockets());
    const host_place home{.node = "n1", .address = "192.0.2.1"};
    agent_ = std::make_unique<agent>(agent_options{
        .driver = agent_links_->open(std::move(sockets.second), link_side::worker), .home = home, .network = nullptr});
    node =
        std::make_shared<node_agent>(home, driver_links_->open(std::move(sockets.first), link_side::driver), log.log());
    serves_ = std::async(std::launch::async, [this] { return agent_->serve(); });
  }
  agent_node(const agent_node&) = delete;
  agent_node& operator=(const agent_node&) = delete;
  /// No process is left, in whatever state the test leaves it.
  ~agent_node() {
    agent_->stop();
    static_cast<void>(join());
    agent_.reset();
    end_driver();
    end_agents_link();
    EXPECT_FALSE(has_children());
  }

  void be_ready(const agent_setup& setup = probe_setup()) {
    node->set_up(setup);
    const auto ready = node->wait_until_ready(in_time());
    ASSERT_TRUE(ready) << to_string(ready.error());
  }
  [[nodiscard]] agent_host new_host() {
    return agent_host(
        {.agent = node, .silence = silence, .log = log.log(), .next_rank = [this] { return next_rank_++; }});
  }
  /// As by agent::stop(), or by what the driver does.
  expected<void> join() {
    if (serves_.valid()) {
      const bool has_ended = serves_.wait_for(noted_events::patience) == std::future_status::ready;
      EXPECT_TRUE(has_ended) << "the agent serves on";
      if (!has_ended) agent_->stop();
      end_ = serves_.get();
    }
    return end_;
  }
  void stop_agent() { agent_->stop(); }
  /// As the death of a process does.
  void end_driver() { driver_links_.reset(); }
  void end_agents_link() { agent_links_.reset(); }

  noted_events log;
  std::shared_ptr<node_agent> node;

 private:
  std::unique_ptr<link_loop> driver_links_ = *link_loop::create({silence});
  std::unique_ptr<link_loop> agent_links_ = *link_loop::create({silence});
  std::unique_ptr<agent> agent_;
  std::future<expected<void>> serves_;
  expected<void> end_;
  std::atomic<std::uint32_t> next_rank_{0};
};

/// A worker of a host, and the news from it.
struct started_worker {
  explicit started_worker(worker_host& host) : worker(*host.start(news)) {}

  void say(const std::string& text) const { worker->send(bytes_of(text)); }
  /// The answer to an order; the worker had no other.
  [[nodiscard]] std::string ask(const std::string& order) {
    say(order);
    const auto all = news->events.first(++answers_);
    return all.size() < answers_ ? "nothing" : all.at(answers_ - 1).substr(std::string("said ").size());
  }

  const std::shared_ptr<noted_worker> news = std::make_shared<noted_worker>();
  const hosted_worker_ptr worker;

 private:
  std::size_t answers_ = 0;
};

/// A process of this test, or a zombie.
inline bool lives(std::uint32_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0;
}

}  // namespace troupe::testing
