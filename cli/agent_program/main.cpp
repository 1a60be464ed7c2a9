// The program `troupe-agent`: joins a job with a ticket and serves its driver. Links no LibTorch, so that it starts in
// milliseconds.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "messages/version.hpp"
#include "runtime/agent/agent.hpp"
#include "runtime/join/join_file.hpp"
#include "runtime/join/join_job.hpp"
#include "runtime/join/network_text.hpp"
#include "runtime/os/standard_descriptors.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/process/error_line.hpp"

namespace {

using namespace troupe;

constexpr const char* usage =
    "usage: troupe-agent --stdin [--error-line] | --join-file FILE\n"
    "Serves the driver of a launch on this node. The ticket comes from standard input or from a file of mode 0600.\n"
    "`troupe launch` starts it, and reads its error as one line (--error-line); `troupe agent` is the same.\n";

struct request {
  bool from_stdin = false;
  std::string file;
};

std::optional<request> parse(int argc, char** argv) {
  const std::string_view flag = argc > 1 ? argv[1] : "";
  const bool has_starter = argc == 3 && std::string_view(argv[2]) == "--error-line";
  if (has_starter) tell_starter_errors();
  if (flag == "--stdin" && (argc == 2 || has_starter)) return request{.from_stdin = true, .file = {}};
  if (argc == 3 && flag == "--join-file") return request{.from_stdin = false, .file = argv[2]};
  if (argc == 2 && flag.starts_with("--join-file=")) return request{.from_stdin = false, .file = argv[1] + 12};
  return std::nullopt;
}

/// Blocked in all threads; one waits for them.
sigset_t ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, each);
  return set;
}

void wait_for_signal(const sigset_t& set, std::chrono::seconds at_most) {
  const timespec time{.tv_sec = at_most.count(), .tv_nsec = 0};
  static_cast<void>(::sigtimedwait(&set, nullptr, &time));
}

/// What started the agent holds the other end of its standard input, and ends with the launch.
void wait_for_end_of_input() {
  char ignored[256];
  for (;;) {
    pollfd waited{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waited, 1, -1) < 0) continue;
    if (::read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return;
  }
}

/// What ends the agent: at once while it joins, in order while it serves. Any thread.
class agent_end {
 public:
  void serves(agent& served) {
    const std::lock_guard lock{mutex_};
    served_ = &served;
  }
  void come(int status) {
    const std::lock_guard lock{mutex_};
    if (served_ == nullptr) std::_Exit(status);
    served_->stop();
  }
  /// A signal asks for the end: an agent that serves exits with 128 + its number, whatever ends it. A scheduler that
  /// takes the node away (SIGTERM) is told on, so that the run ends before. False while it joins.
  [[nodiscard]] bool is_asked_while_it_serves(int signal) {
    const std::lock_guard lock{mutex_};
    status_ = 128 + signal;
    if (served_ != nullptr && signal == SIGTERM) served_->ask_for_end(signal);
    return served_ != nullptr;
  }
  /// The status of an orderly end.
  [[nodiscard]] int status() {
    const std::lock_guard lock{mutex_};
    return status_;
  }

 private:
  std::mutex mutex_;
  agent* served_ = nullptr;
  int status_ = 0;
};

/// Until the end of the process, as the threads that wait for it are.
agent_end& the_end() {
  static auto* const of_this_process = new agent_end;
  return *of_this_process;
}

expected<void> watch_signals() {
  return start_thread("signals",
                      [] {
                        const sigset_t set = ending_signals();
                        int number = 0;
                        ::sigwait(&set, &number);
                        const bool serves = the_end().is_asked_while_it_serves(number);
                        // the driver cannot drain without the stages of this node
                        if (serves && number == SIGTERM)
                          wait_for_signal(set, std::chrono::floor<std::chrono::seconds>(limits::launch_grace));
                        the_end().come(128 + number);
                      })
      .map([](std::thread&& signals) { signals.detach(); });
}

expected<void> watch_input() {
  return start_thread("input",
                      [] {
                        wait_for_end_of_input();
                        the_end().come(static_cast<int>(exit_status::failure));
                      })
      .map([](std::thread&& input) { input.detach(); });
}

expected<join_ticket> await_ticket(const request& asked) {
  TROUPE_TRY(watch_signals());
  if (!asked.from_stdin) return read_join_file(asked.file);
  return read_join_ticket(STDIN_FILENO).and_then([](join_ticket&& ticket) {
    return watch_input().map([&] { return std::move(ticket); });
  });
}

expected<void> serve(const request& asked) {
  const auto ticket = TROUPE_TRY(await_ticket(asked));
  const auto join_until = std::chrono::steady_clock::now() + ticket.lifetime();
  auto joined = TROUPE_TRY(join_job(ticket, version_text(), ticket.lifetime()));
  const host_place home{.node = joined.node, .address = joined.own_address};
  const node_network network{
      .node = home.node, .address = home.address, .credentials = joined.credentials, .node_of = {}};
  auto file = TROUPE_TRY(memory_file::make("troupe-network", to_text(network)));
  auto links = TROUPE_TRY(link_loop::create({}));
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(join_until - std::chrono::steady_clock::now());
  auto link = TROUPE_TRY(
      links->dial(joined.address, joined.port, joined.credentials, std::max(left, limits::tcp_handshake_timeout)));
  agent served({.driver = link, .home = home, .network = std::make_shared<const memory_file>(std::move(file))});
  the_end().serves(served);
  const auto ended = served.serve();
  std::fflush(nullptr);
  if (ended) std::_Exit(the_end().status());  // its threads still wait
  std::fputs(last_words(ended.error()).c_str(), stderr);
  std::_Exit(static_cast<int>(status_of(ended.error().code)));
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_descriptors();
  const sigset_t set = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0)
    return std::printf("troupe-agent %s\n", version_text().c_str()) < 0;
  const auto asked = parse(argc, argv);
  if (!asked) {
    std::fputs(usage, stderr);
    return static_cast<int>(exit_status::usage);
  }
  const auto served = serve(*asked);
  if (served) return 0;
  std::fputs(last_words(served.error()).c_str(), stderr);
  return static_cast<int>(status_of(served.error().code));
}
