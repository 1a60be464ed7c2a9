#include "peer.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds start_limit{20};
constexpr std::chrono::seconds end_limit{5};

bool has_ended(int pidfd, std::chrono::milliseconds within) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(within.count())) > 0;
}

std::string rest_of(int pipe) {
  std::array<char, 4096> text{};
  const ssize_t got = ::read(pipe, text.data(), text.size());
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string{};
}

expected<spawned_process> start(const spawn_request& request) {
  using clock_type = std::chrono::steady_clock;
  const auto begun = starting_process::begin(request, clock_type::now() + start_limit);
  if (!begun) return tl::make_unexpected(begun.error());
  for (;;) {
    if (auto started = (*begun)->look(clock_type::now())) return std::move(*started);
    pollfd ready = (*begun)->polled();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>((*begun)->wakes_at() - clock_type::now());
    ::poll(&ready, 1, static_cast<int>(std::max(0ms, left).count()));
  }
}

}  // namespace

peer_process::peer_process(std::vector<std::string> arguments) {
  auto [channel, socket] = must(fd_channel::make());
  spawn_request request;
  request.name = "peer";
  request.arguments = {"transport_bench", peer_argument};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.fds.push_back({std::move(socket), peer_socket});
  process_ = must(start(request));
  channel.expect_sender(process_.pid);
  talk_.emplace(std::move(channel), [this] { check_alive(); });
}

peer_process::~peer_process() {
  dismiss();
  if (!has_ended(process_.pidfd.get(), end_limit)) (void)send_signal(process_.pidfd.get(), SIGKILL);
  (void)::waitpid(process_.pid, nullptr, 0);
}

void peer_process::check_alive() const {
  if (!has_ended(process_.pidfd.get(), 0ms)) return;
  throw transport_failure("the peer process has ended; it said: " + rest_of(process_.standard_error.get()));
}

peer_thread::peer_thread(std::string name, std::unique_ptr<lane_end> end, patience wait) {
  auto [own, socket] = must(fd_channel::make());
  talk_.emplace(std::move(own));
  auto other = must(fd_channel::adopt(std::move(socket), ::getpid()));
  lane_ends ends;
  ends.emplace(std::move(name), std::move(end));
  thread_ = std::thread([ends = std::move(ends), wait = std::move(wait), other = std::move(other)]() mutable {
    dialogue driver(std::move(other));
    try {
      serve(driver, std::move(ends), wait);
    } catch (const std::exception&) {
      // serve() has told the driver
    }
  });
}

peer_thread::~peer_thread() {
  dismiss();
  thread_.join();
}

}  // namespace troupe::bench
