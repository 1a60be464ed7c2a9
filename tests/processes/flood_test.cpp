// Goal: other users of the machine, who can connect to its ports, neither delay nor end a run that recovers. Method:
// some thousand idle connections to all ports at which the run listens, those of the new workers too; all workers are
// killed.
#include <csignal>
#include <map>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "runtime/os/unique_fd.hpp"
#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t connections_per_port = 1000;
/// More than a queue of a listener holds, where there is but one.
constexpr std::size_t connections_to_the_first = 3000;
/// The system's table of connections is long by then.
constexpr std::chrono::milliseconds time_between_looks{50};
constexpr std::chrono::seconds recovery_max{sanitized ? 30 : 8};

/// Connections that say nothing, as many as asked for to each port.
class crowd {
 public:
  void fill(const std::set<std::uint16_t>& ports) {
    for (const std::uint16_t port : ports) {
      const std::size_t wanted = held_.empty() ? connections_to_the_first : connections_per_port;
      auto& there = held_[port];
      while (there.empty() || there.size() < wanted) {
        if (!connect(there, port)) break;
      }
    }
  }
  [[nodiscard]] std::size_t ports() const { return held_.size(); }

 private:
  static bool connect(std::vector<unique_fd>& there, std::uint16_t port) {
    unique_fd caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_TRUE(caller) << "no descriptor left: raise ulimit -n";
    if (!caller) return false;
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    static_cast<void>(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to));
    there.push_back(std::move(caller));
    return true;
  }

  std::map<std::uint16_t, std::vector<unique_fd>> held_;
};

class flooded : public ::testing::TestWithParam<const char*> {
 protected:
  flooded() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
};

TEST_P(flooded, run_recovers_as_fast_and_to_the_same_bits) {
  const auto arguments = lenet(1, 6000);
  const undisturbed& whole = undisturbed::of(arguments);
  marked_run run(
      with(arguments, {"--processes", "--stages", "2", "--transport", GetParam(), "--journal", killer::journal}));
  crowd idle;
  clock::time_point look_at;
  std::optional<clock::time_point> killed;
  std::optional<clock::duration> recovered_after;
  std::uintmax_t size_then = 0;
  run.on_tick = [&]() -> std::vector<int> {
    if (recovered_after || run.size_of(killer::journal) * 4 < whole.journal_bytes) return {};
    if (clock::now() >= look_at) {
      idle.fill(run.ports());
      look_at = clock::now() + time_between_looks;
    }
    if (!killed && run.workers().size() > 2) {
      for (const pid_t worker : run.workers()) ::kill(worker, SIGKILL);
      killed = clock::now();
      size_then = run.size_of(killer::journal) + whole.journal_bytes / 20;  // what was under way is written still
    } else if (killed && run.size_of(killer::journal) > size_then) {
      recovered_after = clock::now() - *killed;
    }
    return {};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  whole.expect_same(outcome);
  ASSERT_TRUE(recovered_after);
  EXPECT_LT(*recovered_after, recovery_max);
  RecordProperty("milliseconds", std::to_string(*recovered_after / std::chrono::milliseconds{1}));
  // Of the driver, of both stages, and of at least one that took a place.
  if (std::string(GetParam()) == "tcp") {
    EXPECT_GE(idle.ports(), 4u);
  } else {
    EXPECT_EQ(idle.ports(), 0u) << "something listens";
  }
  run.expect_nothing_left({killer::journal});
}

/// Only over tcp something listens.
INSTANTIATE_TEST_SUITE_P(transports, flooded, ::testing::ValuesIn(fewer_if_sanitized(std::vector{"shm", "tcp"}, {1})),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace troupe::testing
