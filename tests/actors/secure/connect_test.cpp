// Goal: an attempt to connect ends by its deadline, whoever is or is not at the other end, and says why.
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>

#include <troupe/actors/secure/link_attempt.hpp>
#include <troupe/actors/secure/secure_door.hpp>
#include <troupe/tests/actors/secure/link_support.hpp>

namespace troupe::testing {
namespace {

/// A port with a listener that never accepts, so that the kernel alone answers.
struct silent_port {
  unique_fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t number = 0;

  explicit silent_port(bool listens = true) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket.get(), generic, size), 0);
    if (listens) {
      EXPECT_EQ(::listen(socket.get(), 8), 0);
    }
    ::getsockname(socket.get(), generic, &size);
    number = ntohs(address.sin_port);
  }
};

/// The code of a failed attempt; the test fails if it takes much longer than `at_most`.
std::optional<error_code> code_of(link_end& from, std::uint16_t port, clock::duration at_most) {
  const auto began = clock::now();
  const auto found = connect_on_loopback(from.system(), port, began + at_most);
  EXPECT_LT(clock::now() - began, at_most + 1s);
  if (found) return std::nullopt;
  EXPECT_NE(found.error().where.find("127.0.0.1"), std::string::npos);
  EXPECT_FALSE(found.error().cause.empty() || found.error().fix.empty());
  return found.error().code;
}

TEST(connecting, to_nobody_fails_at_once) {
  link_end worker;
  const silent_port nobody(false);
  const auto began = clock::now();
  EXPECT_EQ(code_of(worker, nobody.number, 10s), error_code::peer_lost);
  EXPECT_LT(clock::now() - began, 2s);
}

TEST(connecting, to_a_silent_program_ends_at_the_deadline) {
  link_end worker;
  const silent_port silent;
  EXPECT_EQ(code_of(worker, silent.number, 300ms), error_code::wire_handshake);
}

TEST(connecting, returns_at_any_deadline) {
  link_end driver;
  for (int i = -2; i < 30; ++i) {
    link_end worker;
    const auto code = code_of(worker, driver.port(), i * 250us);
    if (i <= 0) {
      EXPECT_NE(code, std::nullopt);
    }
  }
}

TEST(connecting, is_tried_again_until_the_deadline) {
  const member_files files(our_run().ca_certificate, our_run().driver);
  std::mutex mutex;
  std::vector<tls_session> kept;
  // Welcomes, and then has no CAF behind it.
  const auto door = secure_door::open(*tls_context::make(files.identity()), [&](tls_session session) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(session));
  });
  ASSERT_TRUE(door) << to_string(door.error());
  link_end worker({1000ms});
  EXPECT_EQ(code_of(worker, (*door)->port(), 3 * worker.times().heartbeat()), error_code::peer_lost);
  const std::lock_guard lock(mutex);
  EXPECT_GE(kept.size(), 2u);
}

TEST(connecting, twice_gives_the_same_actor) {
  link_end driver;
  link_end worker;
  const auto first = connect_on_loopback(worker.system(), driver.port());
  const auto second = connect_on_loopback(worker.system(), driver.port());
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
}

TEST(connecting, finds_each_of_two_actors_of_a_system) {
  link_end driver;
  link_end worker;
  const wire_actor other = driver.system().spawn([](wire_actor::pointer self) -> wire_actor::behavior_type {
    return {[self](const wire_message&) { self->quit(); }};
  });
  const auto port = publish_on_loopback(driver.system(), other);
  ASSERT_TRUE(port);
  const auto first = connect_on_loopback(worker.system(), driver.port());
  const auto second = connect_on_loopback(worker.system(), *port);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id(), driver.actor().id());
  EXPECT_EQ(second->id(), other.id());
  post(*second, message_of("end"));
}

TEST(connecting, succeeds_for_many_at_once) {
  link_end driver;
  const member_files files(our_run().ca_certificate, our_run().worker);
  const auto context = tls_context::make(files.identity());
  ASSERT_TRUE(context);
  std::atomic<int> welcome{0};
  {
    std::vector<std::jthread> crowd;
    for (int i = 0; i < 128; ++i) {
      crowd.emplace_back(
          [&] { welcome += shake_hands_on_loopback(*context, driver.port(), clock::now() + 20s) ? 1 : 0; });
    }
  }
  EXPECT_EQ(welcome, 128);
}

TEST(connecting, to_oneself_gives_the_actor_itself) {
  link_end alone;
  const auto found = connect_on_loopback(alone.system(), alone.port());
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(*found, alone.actor());
}

TEST(connecting, to_another_run_is_refused_by_both) {
  link_end worker;
  link_end others({}, other_run().driver, other_run().ca_certificate);
  EXPECT_EQ(code_of(worker, others.port(), 5s), error_code::wire_handshake);
  // One that trusts the driver, but whom the driver does not know: the refusal is the driver's.
  link_end stranger({}, other_run().worker, our_run().ca_certificate);
  link_end driver;
  EXPECT_EQ(code_of(stranger, driver.port(), 5s), error_code::wire_handshake);
}

TEST(connecting, to_a_frozen_driver_ends_at_the_deadline) {
  link_end worker;
  // The probe's own port is not known, but a plain node is frozen as well as any: the kernel accepts, nobody answers.
  probe plain({"plain"});
  const auto port = plain.listener().next_line();
  ASSERT_TRUE(port);
  plain.signal(SIGSTOP);
  EXPECT_EQ(code_of(worker, static_cast<std::uint16_t>(std::stoi(*port)), 300ms), error_code::wire_handshake);
}

TEST(connecting, without_credentials_says_which_file) {
  secure_config config({"/nowhere/ca", "/nowhere/certificate", "/nowhere/key"});
  caf::actor_system system{config};
  const auto found = connect_on_loopback(system, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::wire_handshake);
  EXPECT_EQ(found.error().where, "/nowhere/ca");
}

}  // namespace
}  // namespace troupe::testing
