#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "runtime/edge/tcp/connection.hpp"
#include "runtime/edge/tcp/edge_registry.hpp"
#include "runtime/edge/tcp/expected_addresses.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/edge/tcp/untrusted_peers.hpp"
#include "runtime/edge/tcp/waiting_peers.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// What stands behind a tcp_endpoint and its ends: the I/O thread and everything that belongs to it.
class tcp_core {
 public:
  explicit tcp_core(tcp_endpoint_options options);
  tcp_core(const tcp_core&) = delete;
  tcp_core& operator=(const tcp_core&) = delete;

  expected<void> open();
  void stop(std::chrono::milliseconds at_most) noexcept;

  // Any thread.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] const tcp_endpoint_options& options() const noexcept { return options_; }
  [[nodiscard]] bool has_payload_crc() const noexcept { return options_.payload_crc.value_or(!options_.tls); }
  [[nodiscard]] bool has_stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  /// Peers from this numeric address have the seats of those that are expected.
  void expect(const std::string& address) { expected_->add(address); }
  expected<void> await_peer(const std::shared_ptr<receiver_link>& link);
  expected<void> dial(const std::string& host, std::uint16_t port, const std::shared_ptr<sender_link>& link);
  /// The same without waiting: tried again until the other side has accepted, at most for attach_timeout; then the link
  /// is lost. Errors: E0404.
  expected<void> dial_until_admitted(const std::string& host, std::uint16_t port,
                                     const std::shared_ptr<sender_link>& link);
  /// The end has news for the I/O thread.
  void wake(const std::shared_ptr<edge_link>& link);
  /// The same, but what the end's thread can write itself, it writes.
  void write_here(const std::shared_ptr<edge_link>& link);
  [[nodiscard]] bool is_settled();
  [[nodiscard]] std::size_t connections();

  // The I/O thread.
  expected<edge_transcript> find(const hello_frame& hello) { return registry_.find(hello); }
  expected<std::shared_ptr<receiver_link>> admit(const edge_key& key, const std::optional<std::string>& node) {
    return registry_.admit(key, node);
  }
  /// Tells the connection the node of its peer, if names are compared and the peer has a certificate.
  expected<void> find_name(connection& of) const;
  void refuse(const error& why, const std::string& peer) const;

 private:
  /// Peers that have not shown to belong to the run.
  struct entrance {
    untrusted_peers seats;
    waiting_peers waiting;
  };

  expected<asio::ip::tcp::endpoint> permitted(const std::string& host, std::uint16_t port) const;
  expected<void> permit(const asio::ip::address& address) const;
  expected<void> secure();
  expected<void> listen();
  std::error_code bind(const asio::ip::tcp::endpoint& at);
  std::error_code adopt();
  void accept_next();
  bool accept_some();
  void take_in(asio::ip::tcp::socket peer);
  void serve_waiting();
  void serve_waiting(entrance& at);
  void welcome(asio::ip::tcp::socket socket, const asio::ip::address& from, untrusted_peers& seats);
  std::shared_ptr<connection> add(wire_socket socket, std::shared_ptr<connection_role> role);
  void attend(edge_link& link);
  using time_point = std::chrono::steady_clock::time_point;
  void try_to_reach(const asio::ip::tcp::endpoint& to, const std::shared_ptr<sender_link>& link, time_point give_up_at);
  void limit_wait(const std::shared_ptr<receiver_link>& link);
  [[nodiscard]] bool is_drained() const;
  void wait_until_drained(const std::shared_ptr<std::promise<void>>& done);
  template <class Ask>
  auto ask(Ask what) -> decltype(what());

  const tcp_endpoint_options options_;
  unique_fd listener_;
  const connection_limits limits_;
  frame_traffic traffic_;
  edge_registry registry_;
  std::unique_ptr<tls_context> tls_;
  asio::io_context io_;  // handlers die with it, and use what stands above
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::ip::tcp::acceptor acceptor_{io_};
  asio::steady_timer later_{io_};
  asio::steady_timer room_{io_};
  bool waits_for_room_ = false;
  std::uint16_t port_ = 0;
  std::set<std::shared_ptr<connection>> connections_;
  const std::shared_ptr<expected_addresses> expected_;
  entrance of_expected_;
  entrance of_others_;
  std::mutex stopping_;
  std::atomic<bool> stopped_{false};
  std::thread thread_;
};

}  // namespace troupe
