// Support of the tests of workers of this host: a listener that notes.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/process/worker_host.hpp"
#include "tests/runtime/link/link_support.hpp"

namespace troupe::testing {

/// What it was told of a worker.
struct noted_worker final : worker_listener {
  void said(const hosted_worker_ptr&, codec::bytes message) override { note("said " + text_of(message)); }
  void link_lost(const hosted_worker_ptr&) override { note("link lost"); }
  void exited(const hosted_worker_ptr& worker, const exit_report&) override { note(worker->place() + " exited"); }

  void note(std::string what) {
    const std::lock_guard lock{mutex};
    told.push_back(std::move(what));
    changed.notify_all();
  }
  /// What was told, once it is so much.
  std::vector<std::string> first(std::size_t count) {
    std::unique_lock lock{mutex};
    changed.wait_for(lock, patience, [&] { return told.size() >= count; });
    return told;
  }
  /// Whether `what` comes to be told.
  bool hears(const std::string& what) {
    std::unique_lock lock{mutex};
    return changed.wait_for(lock, patience, [&] { return std::ranges::count(told, what) > 0; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> told;
};

}  // namespace troupe::testing
