// Goal: workers that are killed at any moment, also between fork and exec, leave neither zombies nor descriptors, and
// each is told of exactly once. Method: several threads start workers and kill them by id, while another one kills
// whatever child the kernel lists.
#include <atomic>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

constexpr int starters = 2;
constexpr int workers_each = 50;

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(thread.path() / "children");
    for (pid_t pid = 0; list >> pid;) found.push_back(pid);
  }
  return found;
}

/// Some of the children, at whatever point they are.
void kill_children_at_random(const std::atomic<bool>& done, std::atomic<int>& killed) {
  std::mt19937 random(7);
  while (!done.load()) {
    for (const pid_t pid : children_of_this_process()) {
      if (random() % 4 == 0 && ::kill(pid, SIGKILL) == 0) killed.fetch_add(1);
    }
  }
}

struct started_workers {
  int refused = 0;
  std::vector<std::shared_ptr<probe_listener>> listeners;
};

void start_and_kill(process_host& host, unsigned seed, started_workers& result) {
  std::mt19937 random(seed);
  std::vector<worker_id> ids;
  for (int i = 0; i < workers_each; ++i) {
    const auto listener = std::make_shared<probe_listener>();
    const auto started = host.start(probe({random() % 2 == 0 ? "wait" : "flood", "100"}), listener);
    if (!started) {
      ++result.refused;
      continue;
    }
    result.listeners.push_back(listener);
    ids.push_back(*started);
    if (random() % 2 == 0) host.kill(ids[random() % ids.size()], SIGKILL);
  }
}

TEST(process_chaos, leaves_neither_zombies_nor_descriptors) {
  new_host().reset();  // opens the descriptors that stay
  const auto open_before = open_descriptors();
  std::vector<started_workers> results(starters);
  std::atomic<bool> done{false};
  std::atomic<int> killed{0};
  {
    const auto host = new_host();
    std::thread killer(kill_children_at_random, std::cref(done), std::ref(killed));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < starters; ++i) {
      threads.emplace_back(start_and_kill, std::ref(*host), i, std::ref(results.at(i)));
    }
    for (std::thread& thread : threads) thread.join();
    done = true;
    killer.join();
    EXPECT_TRUE(host->stop(in_time()));
    EXPECT_EQ(host->running(), 0u);
  }
  std::size_t started = 0;
  for (const started_workers& result : results) {
    for (const auto& listener : result.listeners) EXPECT_TRUE(listener->has_ended());
    started += result.listeners.size() + static_cast<std::size_t>(result.refused);
    EXPECT_EQ(result.refused, 0);
  }
  EXPECT_EQ(started, starters * workers_each);
  EXPECT_GT(killed.load(), 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(open_descriptors(), open_before);
}

}  // namespace
}  // namespace troupe::testing
