// A node in this process that sees a directory of its own: an agent on a thread, its mirror as a driver has it, and the
// link between them.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <sched.h>

#include "runtime/agent/agent.hpp"
#include "runtime/agent_host/node_agent.hpp"
#include "tests/runtime/agent/file_folder.hpp"

namespace troupe::testing {

inline constexpr std::chrono::seconds file_patience{60};

/// The agent executes it for a fork server; this test program would run all its tests in there.
inline constexpr const char* idle_program = "/bin/true";

inline std::chrono::steady_clock::time_point in_file_time() {
  return std::chrono::steady_clock::now() + file_patience;
}

/// The driver's end of a node, and the other end of its link.
class linked_node {
 public:
  explicit linked_node(const std::string& name) {
    auto sockets = std::move(*make_link_sockets());
    const host_place home{.node = name, .address = "192.0.2.1"};
    node =
        std::make_shared<node_agent>(home, driver_links_->open(std::move(sockets.first), link_side::driver), nullptr);
    other_end = agent_links_->open(std::move(sockets.second), link_side::worker);
  }

  std::shared_ptr<node_agent> node;
  std::shared_ptr<message_link> other_end;

 private:
  std::unique_ptr<link_loop> driver_links_ = *link_loop::create({});
  std::unique_ptr<link_loop> agent_links_ = *link_loop::create({});
};

/// Relative paths are those below node_files() on this node, and those of the test elsewhere.
class file_node {
 public:
  explicit file_node(const std::string& name) : linked_(name) {
    std::filesystem::create_directories(files());
    agent_ = std::make_unique<agent>(
        agent_options{.driver = linked_.other_end, .home = {.node = name, .address = "192.0.2.1"}, .network = nullptr});
    serves_ = std::thread([this] {
      EXPECT_EQ(::unshare(CLONE_FS), 0) << "its working directory is that of this thread";
      static_cast<void>(agent_->serve());
    });
    node().set_up({.program = idle_program,
                   .program_hash = *sha256_of_file(idle_program, error_code::worker_mismatch),
                   .directory = files().string(),
                   .arguments = {},
                   .environment = {{"TROUPE_CACHE_DIR", (folder.root / "cache/troupe").string()}},
                   .slots = 1,
                   .first_rank = 0,
                   .world_size = 1});
    const auto ready = node().wait_until_ready(in_file_time());
    EXPECT_TRUE(ready) << to_string(ready.error());
  }
  file_node(const file_node&) = delete;
  file_node& operator=(const file_node&) = delete;
  ~file_node() { end(); }

  [[nodiscard]] node_agent& node() const { return *linked_.node; }
  [[nodiscard]] std::shared_ptr<node_agent> mirror() const { return linked_.node; }
  [[nodiscard]] std::filesystem::path files() const { return folder.root / "files"; }
  void end() {
    agent_->stop();
    if (serves_.joinable()) serves_.join();
  }

  file_folder folder;

 private:
  linked_node linked_;
  std::unique_ptr<agent> agent_;
  std::thread serves_;
};

}  // namespace troupe::testing
