#pragma once

#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "runtime/edge/tcp/connection.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

class link_end;

/// What stands behind a link_loop and its links: the thread and everything that belongs to it.
struct link_core {
  explicit link_core(const liveness& times);
  link_core(const link_core&) = delete;
  link_core& operator=(const link_core&) = delete;

  [[nodiscard]] expected<void> run();
  /// Cuts all links.
  void stop() noexcept;
  void know(const std::shared_ptr<link_end>& end);
  /// The loop's thread.
  [[nodiscard]] std::shared_ptr<connection> add(wire_socket socket, std::shared_ptr<connection_role> role);

  const connection_limits times;
  frame_traffic traffic;
  asio::io_context io;  // handlers die with it, and use what stands above
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::set<std::shared_ptr<connection>> connections;
  std::mutex mutex;
  std::vector<std::weak_ptr<link_end>> ends;
  std::thread thread;
};

/// One end, and what its connection is about.
///
///   opened --start--> waiting (the driver's, for the first word) --a frame--> talking --loss--> lost
///                     talking (the worker's)
/// peer_has_ended() ends the link in any of these, once all has been read that came.
class link_end final : public message_link, public connection_role, public std::enable_shared_from_this<link_end> {
 public:
  link_end(std::shared_ptr<link_core> core, unique_fd socket, link_side side);

  void start(link_events events) override;
  void send(codec::bytes message) override;
  [[nodiscard]] std::size_t queued_bytes() const override;
  void peer_has_ended(std::function<void()> done) override;

  // The loop's thread.
  std::shared_ptr<aligned_buffer> place_for(std::uint64_t bytes) override;
  expected<void> on_frame(connection& from, const frame& head, std::span<const std::byte> payload,
                          std::shared_ptr<aligned_buffer> owner) override;
  expected<bool> next(outgoing& out) override;
  void lost(const error& why, const std::string& peer) override;
  /// The loop ends.
  void cut();

 private:
  template <class Do>
  void post(Do what);
  void connect(link_events events);
  void pump();
  void end_when_read(std::function<void()> done);
  void end(const error& why);
  [[nodiscard]] std::shared_ptr<link_core> core();

  const link_side side_;
  mutable std::mutex mutex_;
  /// Null once the loop has ended.
  std::shared_ptr<link_core> core_;
  std::deque<codec::bytes> queue_;
  std::size_t queued_bytes_ = 0;
  bool is_pumping_ = false;
  bool is_lost_ = false;

  // The loop's thread.
  unique_fd socket_;
  std::weak_ptr<connection> connection_;
  link_events events_;
  std::function<void()> done_;
  codec::bytes current_;
  bool talks_ = false;
  bool owes_word_ = false;
};

}  // namespace troupe
