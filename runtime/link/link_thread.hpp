#pragma once

#include <memory>
#include <set>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "runtime/link/link_core.hpp"

namespace troupe {

/// What stands behind a link_loop: its thread and the connections on it.
class link_thread {
 public:
  explicit link_thread(const liveness& times);
  link_thread(const link_thread&) = delete;
  link_thread& operator=(const link_thread&) = delete;
  ~link_thread();

  /// E0614 where the system gives no thread.
  [[nodiscard]] expected<void> run();
  /// The thread alone.
  [[nodiscard]] std::shared_ptr<connection> add(std::unique_ptr<wire_stream> stream, const connection_limits& limits,
                                                std::shared_ptr<connection_role> role);

  const liveness times;

 private:
  frame_traffic traffic_;
  asio::io_context io_;  // handlers die with it, and use what stands above
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::set<std::shared_ptr<connection>> connections_;

 public:
  const std::shared_ptr<link_core> core{std::make_shared<link_core>(io_.get_executor())};

 private:
  std::thread thread_;
};

}  // namespace troupe
