// Goal: messages between launcher and driver arrive whole and in order, the end of either side is noticed, and no wait
// is without an end.
// Method: both ends in one process, over a real socket pair.
#include "runtime/launch/launch_channel.hpp"

#include <condition_variable>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto patience = 60s;

steady_clock::time_point soon() {
  return steady_clock::now() + patience;
}

launch_setup small_setup() {
  launch_setup setup;
  setup.nodes = {{"w0", {0}}, {"w1", {0, 1}}};
  setup.addresses = {"127.0.0.1"};
  setup.join_timeout = 60s;
  return setup;
}

struct both_ends {
  launcher_channel launcher;
  std::unique_ptr<driver_channel> driver;
};

both_ends make_ends(const launch_setup& setup = small_setup()) {
  auto made = launcher_channel::make();
  EXPECT_TRUE(made);
  EXPECT_TRUE(made->first.send(setup));
  auto driver = driver_channel::open({made->second.release()}, soon());
  EXPECT_TRUE(driver) << to_string(driver.error());
  return {std::move(made->first), std::move(*driver)};
}

/// Waits until the channel is closed or gives a message.
std::optional<launch_message> await_message(launcher_channel& channel) {
  const auto until = soon();
  while (steady_clock::now() < until) {
    auto message = channel.receive();
    EXPECT_TRUE(message) << to_string(message.error());
    if (!message || *message || channel.is_closed()) return message ? *message : std::nullopt;
    pollfd waited{channel.fd(), POLLIN, 0};
    ::poll(&waited, 1, 1000);
  }
  ADD_FAILURE() << "no message came";
  return std::nullopt;
}

/// What a driver hears, for a test that waits for it.
class heard_events {
 public:
  driver_listener listener() {
    return {[this](const launch_agent_failed& failed) { add(failed.node + ": " + failed.why.cause); },
            [this](const launch_stop& stop) { add("stop " + std::to_string(stop.signal)); },
            [this](const error& why) { add("closed " + code_name(why.code)); }};
  }
  std::vector<std::string> await(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_until(lock, soon(), [&] { return events_.size() >= count; }));
    return events_;
  }

 private:
  void add(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
};

TEST(launch_channel, carries_both_ways_in_order) {
  both_ends ends = make_ends();
  EXPECT_EQ(ends.driver->setup(), small_setup());
  for (const char* node : {"w1", "w2"}) {
    ASSERT_TRUE(ends.driver->send(launch_ticket{node, "secret"}));
    ASSERT_TRUE(ends.driver->send(launch_joined{node}));
  }
  EXPECT_EQ(await_message(ends.launcher), launch_message(launch_ticket{"w1", "secret"}));
  EXPECT_EQ(await_message(ends.launcher), launch_message(launch_joined{"w1"}));
  EXPECT_EQ(await_message(ends.launcher), launch_message(launch_ticket{"w2", "secret"}));
  EXPECT_EQ(await_message(ends.launcher), launch_message(launch_joined{"w2"}));
  // before and after the driver listens
  ASSERT_TRUE(ends.launcher.send(launch_agent_failed{"w1", node_failed("w1", "refused")}));
  heard_events heard;
  ASSERT_TRUE(ends.driver->listen(heard.listener()));
  ASSERT_TRUE(ends.launcher.send(launch_stop{15}));
  EXPECT_EQ(heard.await(2), (std::vector<std::string>{"w1: refused", "stop 15"}));
}

TEST(launch_channel, a_driver_hears_the_end_of_its_launcher_once) {
  heard_events heard;
  {
    both_ends ends = make_ends();
    ASSERT_TRUE(ends.driver->listen(heard.listener()));
    ends.launcher = std::move(launcher_channel::make()->first);
    heard.await(1);
    const auto sent = ends.driver->send(launch_joined{"w1"});
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, error_code::peer_lost);
  }
  EXPECT_EQ(heard.await(1), (std::vector<std::string>{"closed E0708"}));
}

TEST(launch_channel, a_driver_that_closes_hears_nothing_of_it) {
  heard_events heard;
  both_ends ends = make_ends();
  ASSERT_TRUE(ends.driver->listen(heard.listener()));
  ASSERT_TRUE(ends.driver->send(launch_joined{"w1"}));
  ends.driver.reset();
  EXPECT_TRUE(heard.await(0).empty());
  EXPECT_TRUE(await_message(ends.launcher)) << "what was sent before arrives";
  EXPECT_FALSE(await_message(ends.launcher));
  EXPECT_TRUE(ends.launcher.is_closed());
  EXPECT_FALSE(ends.launcher.send(launch_stop{15}));
}

TEST(launch_channel, a_long_setup_goes_piece_by_piece) {
  launch_setup setup = small_setup();
  setup.environment = {{"LONG", std::string(limits::launch_variables_bytes_max, 'x')}};
  auto made = launcher_channel::make();
  ASSERT_TRUE(made);
  launcher_channel& launcher = made->first;
  ASSERT_TRUE(launcher.send(setup));
  EXPECT_TRUE(launcher.has_more_to_send()) << "the socket's buffer is smaller";
  expected<std::unique_ptr<driver_channel>> driver;
  std::thread reader([&] { driver = driver_channel::open({made->second.release()}, soon()); });
  for (const auto until = soon(); launcher.has_more_to_send() && steady_clock::now() < until;) {
    pollfd waited{launcher.fd(), POLLOUT, 0};
    ::poll(&waited, 1, 1000);
    ASSERT_TRUE(launcher.flush());
  }
  reader.join();
  ASSERT_TRUE(driver) << to_string(driver.error());
  EXPECT_EQ((*driver)->setup(), setup);
}

TEST(launch_channel, a_driver_waits_for_its_setup_until_its_deadline) {
  auto made = launcher_channel::make();
  ASSERT_TRUE(made);
  const auto silent = driver_channel::open({made->second.release()}, steady_clock::now() + 10ms);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, error_code::peer_lost);
}

TEST(launch_channel, a_driver_takes_no_other_descriptor) {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  int packets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets), 0);
  const unique_fd other(packets[1]);
  for (const int fd : {file, packets[0], ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}) {
    const auto opened = driver_channel::open({fd}, soon());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, error_code::wire_handshake);
  }
}

TEST(launch_channel, what_is_no_message_ends_it) {
  for (const std::string text : {"nonsense\n", "{\"joined\":\"w1\"}\n", "{\"stop\":{\"signal\":15}}\n"}) {
    auto made = launcher_channel::make();
    ASSERT_TRUE(made);
    ASSERT_EQ(::send(made->first.fd(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    const auto opened = driver_channel::open({made->second.release()}, soon());
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, error_code::wire_malformed) << text;
  }
  auto made = launcher_channel::make();
  ASSERT_TRUE(made);
  const std::string stop = "{\"stop\":{\"signal\":15}}\n";
  ASSERT_EQ(::send(made->second.get(), stop.data(), stop.size(), 0), static_cast<ssize_t>(stop.size()));
  EXPECT_EQ(made->first.receive().error().code, error_code::wire_malformed) << "a driver does not say that";
}

TEST(launch_channel, a_line_without_an_end_has_a_limit) {
  auto made = launcher_channel::make();
  ASSERT_TRUE(made);
  std::thread writer([&] {
    const std::string bytes(1u << 20, 'x');
    while (::send(made->second.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  expected<std::optional<launch_message>> received;
  for (const auto until = soon(); received && steady_clock::now() < until;) received = made->first.receive();
  ::shutdown(made->second.get(), SHUT_RDWR);
  writer.join();
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, error_code::wire_too_large);
}

}  // namespace
}  // namespace troupe::testing
