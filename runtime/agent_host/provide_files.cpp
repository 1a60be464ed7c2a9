#include "runtime/agent_host/provide_files.hpp"

#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

/// What all nodes have to do with one another: the first error ends the work of the others.
class shared_end {
 public:
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  void fail_with(const error& why) {
    const std::lock_guard lock{mutex_};
    if (!first_) first_ = why;
    stop_.request_stop();
  }
  [[nodiscard]] expected<void> result() const { return first_ ? tl::make_unexpected(*first_) : expected<void>{}; }

 private:
  std::mutex mutex_;
  std::optional<error> first_;
  std::stop_source stop_;
};

}  // namespace

expected<void> provide_files(const std::vector<std::shared_ptr<node_agent>>& nodes,
                             const std::vector<file_identity>& files, std::chrono::steady_clock::time_point deadline) {
  if (files.empty() || nodes.empty()) return {};
  if (files.size() > limits::node_files_max)
    return fail(error_code::wire_too_large, "model files", "more than " + std::to_string(limits::node_files_max),
                "use fewer files, or one host");
  shared_end end;
  const auto provide_to = [&](node_agent& node) {
    for (const file_identity& each : files) {
      if (auto done = node.provide(each, deadline, end.token()); !done) return end.fail_with(done.error());
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t node = 1; node < nodes.size(); ++node) {
    auto thread = start_thread("files", [&provide_to, &node = *nodes[node]] { provide_to(node); });
    if (!thread) {
      end.fail_with(thread.error());
      break;
    }
    threads.push_back(std::move(*thread));
  }
  provide_to(*nodes.front());
  for (std::thread& each : threads) each.join();
  return end.result();
}

}  // namespace troupe
