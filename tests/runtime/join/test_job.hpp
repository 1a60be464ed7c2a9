#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/join/join_job.hpp"
#include "runtime/join/join_service.hpp"
#include "runtime/link/link_acceptor.hpp"
#include "tests/runtime/edge/tcp/tcp_test_support.hpp"
#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {

/// A driver of one job that listens on loopback, as one with nodes does.
struct test_job {
  struct options {
    std::string version = "troupe 1";
    liveness times = {};
    std::chrono::milliseconds handshake = 10s;
    /// The driver shows the certificate of this node of its job.
    std::string poses_as = {};
  };

  test_job() : test_job(options{}) {}
  explicit test_job(const options& asked) {
    tcp_endpoint_options made;
    made.tls = asked.poses_as.empty() ? *authority->make_driver_credentials() : joined(*authority, asked.poses_as);
    made.node_of = node_of;
    made.codec = std::make_shared<number_codec>();
    made.handshake_timeout = asked.handshake;
    made.on_refused = refused.put();
    made.joins = make_join_service({tickets, authority, asked.version, refused.put()});
    made.links = make_link_acceptor(asked.times, [this](node_link link) {
      const std::scoped_lock lock(guard);
      links.push_back(std::move(link));
      linked.notify_all();
    });
    endpoint = must_open(std::move(made));
  }
  /// For this driver's port.
  [[nodiscard]] join_ticket ticket(const std::string& node) const {
    join_ticket made = *tickets->issue(node, std::chrono::seconds(60));
    made.target.port = endpoint->port();
    return made;
  }
  /// The next link that a node has made; nothing if none comes.
  [[nodiscard]] std::optional<node_link> next_link() {
    std::unique_lock lock(guard);
    if (!linked.wait_for(lock, 20s, [&] { return !links.empty(); })) return std::nullopt;
    node_link first = std::move(links.front());
    links.pop_front();
    return first;
  }

  const std::shared_ptr<const job_authority> authority = std::make_shared<const job_authority>(*job_authority::make());
  std::atomic<std::int64_t> now{1'000'000};
  const std::shared_ptr<ticket_book> tickets = std::make_shared<ticket_book>(
      join_target{{"127.0.0.1"}, 1, authority->fingerprint()}, [this] { return now.load(); });
  error_box refused;
  std::mutex guard;
  std::condition_variable linked;
  std::deque<node_link> links;
  std::shared_ptr<tcp_endpoint> endpoint;
};

}  // namespace troupe::testing
