// The driver of the tests: does one thing after another, as its arguments say, and tells on stdout what it hears.
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "runtime/join/join_ticket.hpp"
#include "runtime/launch/launch_channel.hpp"

namespace {

using namespace troupe;

void tell(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

[[noreturn]] void end_badly(const std::string& why) {
  std::fprintf(stderr, "launch_driver: %s\n", why.c_str());
  std::exit(70);
}

class scripted_driver {
 public:
  void open() {
    const auto environment = take_launch_environment();
    if (!environment || !*environment) end_badly("no launch");
    auto opened = driver_channel::open(**environment, std::chrono::steady_clock::now() + std::chrono::seconds(60));
    if (!opened) end_badly(to_string(opened.error()));
    channel_ = std::move(*opened);
    auto listening = channel_->listen({[this](const launch_agent_failed& failed) {
                                         hear("failed " + failed.node + ": " + failed.why.cause);
                                         if (!failed.why.fix.empty()) hear("its fix: " + failed.why.fix);
                                       },
                                       [this](const launch_stop& stop) { hear("stop " + std::to_string(stop.signal)); },
                                       [this](const error& why) { hear("closed " + code_name(why.code)); }});
    if (!listening) end_badly(to_string(listening.error()));
    tell("nodes " + std::to_string(channel_->setup().nodes.size()));
  }

  void ticket(const std::string& node) {
    if (!channel_->send(launch_ticket{node, "ticket-of-" + node})) end_badly("no ticket");
  }
  void real_ticket(const std::string& node) {
    const auto secret = join_secret::make();
    if (!secret) end_badly("no secret");
    const std::int64_t now = std::time(nullptr);
    const auto text = to_text({{{"127.0.0.1"}, 4000, {}}, node, *secret, now, now + 600});
    if (!text || !channel_->send(launch_ticket{node, std::string(text->view())})) end_badly("no ticket");
  }
  void joined(const std::string& node) {
    if (!channel_->send(launch_joined{node})) end_badly("no word");
  }
  void end_asked(const std::string& node) {
    if (!channel_->send(launch_end_asked{node})) end_badly("no word");
  }
  /// Prints the next event.
  void await_event() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [&] { return !events_.empty(); })) end_badly("no event");
    tell(events_.front());
    events_.pop_front();
  }

 private:
  void hear(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> events_;
  /// The last one: its thread uses the others.
  std::unique_ptr<driver_channel> channel_;
};

}  // namespace

int main(int argc, char** argv) {
  scripted_driver driver;
  const std::vector<std::string> given(argv + 1, argv + argc);
  std::size_t at = 0;
  const auto next = [&]() -> const std::string& { return given.at(at++); };
  while (at < given.size()) {
    const std::string& action = next();
    if (action == "open") driver.open();
    if (action == "ticket") driver.ticket(next());
    if (action == "real-ticket") driver.real_ticket(next());
    if (action == "joined") driver.joined(next());
    if (action == "end-asked") driver.end_asked(next());
    if (action == "await") driver.await_event();
    if (action == "pid") tell("pid " + std::to_string(::getpid()));
    if (action == "group") tell(::getpgrp() == ::getpid() ? "own group" : "another group");
    if (action == "say") std::fprintf(stderr, "%s\n", next().c_str());
    if (action == "launch-variable") tell(std::getenv(launch_variable) == nullptr ? "no variable" : "a variable");
    if (action == "block") {
      std::signal(SIGTERM, SIG_IGN);
      std::signal(SIGINT, SIG_IGN);
    }
    if (action == "die") std::raise(std::atoi(next().c_str()));
    if (action == "exit") return std::atoi(next().c_str());
    if (action == "pause") {
      tell("paused");
      while (true) ::pause();
    }
  }
  return 0;
}
