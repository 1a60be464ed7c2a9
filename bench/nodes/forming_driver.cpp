#include "forming_driver.hpp"

#include <atomic>
#include <condition_variable>
#include <ctime>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/version.hpp"
#include "runtime/agent_host/node_agent.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/join/join_service.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/link/link_acceptor.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe::bench {
namespace {

using std::chrono::steady_clock;

double seconds_of(clockid_t of) {
  timespec now{};
  ::clock_gettime(of, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct memory_size {
  double resident_kib = 0;
  double allocated_kib = 0;

  static memory_size now() {
    std::ifstream file("/proc/self/statm");
    double all_pages = 0;
    double resident_pages = 0;
    file >> all_pages >> resident_pages;
    return {resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024,
            static_cast<double>(::mallinfo2().uordblks) / 1024};
  }
};

/// As the setup of a launch, with a path of a usual length and the variables that are forwarded.
agent_setup usual_setup(std::size_t nodes) {
  agent_setup made{.program = "/opt/troupe/bin/troupe",
                   .program_hash = std::string(64, 'a'),
                   .directory = "/home/user/project",
                   .arguments = {"troupe", "eval", "--model", "lenet.pt", "--stages", "4", "--processes"},
                   .environment = {{"NODE_RANK", "1"}, {"MASTER_ADDR", "10.0.0.1"}, {"OMP_NUM_THREADS", "1"}},
                   .slots = 1,
                   .first_rank = 0,
                   .world_size = static_cast<std::uint32_t>(nodes)};
  return made;
}

class forming_driver {
 public:
  explicit forming_driver(const formation& asked)
      : asked_(asked), setup_(usual_setup(asked.nodes)), endpoint_(must(tcp_endpoint::open(options()))) {}

  formation_figures measure(const unique_fd& agents) {
    const memory_size before = memory_size::now();
    const auto start = steady_clock::now();
    tell_tickets(agents);
    wait_until_ready(start + limits::launch_join_timeout);
    const std::chrono::duration<double> taken = steady_clock::now() - start;
    const auto nodes = static_cast<double>(asked_.nodes);
    formation_figures found{.seconds_to_form = taken.count(), .join_cpu_us_per_node = io_seconds() * 1e6 / nodes};
    found.heartbeat_cpu_us = idle_seconds() * 1e6 / nodes / heartbeats();
    const memory_size after = memory_size::now();
    found.resident_kib_per_node = (after.resident_kib - before.resident_kib) / nodes;
    found.allocated_kib_per_node = (after.allocated_kib - before.allocated_kib) / nodes;
    found.refused = refused_;
    return found;
  }

 private:
  tcp_endpoint_options options() {
    tcp_endpoint_options made;
    made.tls = must(authority_->make_driver_credentials());
    made.node_of = node_of_certificate;
    made.on_refused = [this](const error&) { ++refused_; };
    made.links = make_link_acceptor(liveness{}, [this](node_link link) { joined(std::move(link)); });
    made.joins = make_join_service(
        {.tickets = tickets_, .authority = authority_, .version = version_text(), .on_other_version = {}});
    return made;
  }

  /// I/O thread.
  void joined(node_link link) {
    const auto agent =
        std::make_shared<node_agent>(host_place{.node = link.node, .address = link.address}, link.link, nullptr);
    agent->set_up(setup_);
    const std::lock_guard lock{mutex_};
    io_thread_ = ::pthread_self();
    agents_.push_back(agent);
    changed_.notify_all();
  }

  void tell_tickets(const unique_fd& agents) {
    std::string lines;
    for (std::size_t node = 0; node < asked_.nodes; ++node) {
      auto ticket = must(tickets_->issue("node" + std::to_string(node), std::chrono::seconds(60)));
      ticket.target.port = endpoint_->port();
      lines += std::string(must(to_text(ticket)).view()) + "\n";
    }
    if (write_all(agents.get(), lines) != 0) throw formation_failure("the agents' process has ended");
  }

  void wait_until_ready(steady_clock::time_point deadline) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_until(lock, deadline, [&] { return agents_.size() == asked_.nodes; }))
      throw formation_failure(fmt::format("{} of {} nodes have joined, {} connections were refused", agents_.size(),
                                          asked_.nodes, refused_.load()));
    for (const auto& each : agents_) {
      if (const auto ready = each->wait_until_ready(deadline); !ready)
        throw formation_failure(to_string(ready.error()));
    }
  }

  double io_seconds() const {
    clockid_t of{};
    ::pthread_getcpuclockid(io_thread_, &of);
    return seconds_of(of);
  }

  double idle_seconds() {
    std::this_thread::sleep_for(2 * liveness{}.heartbeat());  // what joining has left to do
    const double before = io_seconds();
    std::this_thread::sleep_for(asked_.idle_time);
    const double taken = io_seconds() - before;
    for (const auto& each : agents_) {
      if (const auto lost = each->loss()) throw formation_failure(to_string(*lost));
    }
    return taken;
  }

  double heartbeats() const {
    return std::chrono::duration<double>(asked_.idle_time) / std::chrono::duration<double>(liveness{}.heartbeat());
  }

  const formation asked_;
  const agent_setup setup_;
  const std::shared_ptr<const job_authority> authority_ =
      std::make_shared<const job_authority>(must(job_authority::make()));
  const std::shared_ptr<ticket_book> tickets_ = std::make_shared<ticket_book>(
      join_target{.addresses = {"127.0.0.1"}, .port = 0, .authority = authority_->fingerprint()});
  std::atomic<std::size_t> refused_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  pthread_t io_thread_{};
  std::vector<std::shared_ptr<node_agent>> agents_;
  /// Last: its thread uses the others.
  const std::unique_ptr<tcp_endpoint> endpoint_;
};

}  // namespace

void run_driver(const formation& asked, unique_fd agents) {
  forming_driver driver(asked);
  const formation_figures found = driver.measure(agents);
  const std::string line =
      fmt::format("{} {} {} {} {} {}\n", found.seconds_to_form, found.join_cpu_us_per_node, found.heartbeat_cpu_us,
                  found.resident_kib_per_node, found.allocated_kib_per_node, found.refused);
  if (write_all(agents.get(), line) != 0) throw formation_failure("the agents' process has ended");
  char ignored = 0;
  while (::read(agents.get(), &ignored, 1) > 0) {
  }
}

}  // namespace troupe::bench
