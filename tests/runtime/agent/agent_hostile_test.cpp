// Goal: no bytes of a driver crash an agent, make it take much memory, or leave a process. Method: a proper setup, then
// messages that were changed at random; the workers are a program that ends at once.
#include <fstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/codec/codec.hpp"
#include "runtime/agent/agent.hpp"
#include "runtime/os/file_hash.hpp"
#include "tests/messages/message_samples.hpp"
#include "tests/runtime/link/link_support.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

constexpr const char* program = "/bin/true";

std::string directory_now() {
  std::string path(4096, '\0');
  return ::getcwd(path.data(), path.size()) == nullptr ? "/" : path.c_str();
}

agent_setup proper_setup() {
  return {.program = program,
          .program_hash = *sha256_of_file(program, error_code::worker_mismatch),
          .directory = directory_now(),
          .arguments = {"true"},
          .environment = {},
          .slots = 1,
          .first_rank = 0,
          .world_size = 1};
}

/// Numbers small enough to meet each other.
codec::bytes some_order(sample_maker& make) {
  const auto rank = static_cast<std::uint32_t>(make.below(3));
  const std::uint64_t number = make.below(3);
  switch (make.below(11)) {
    case 0:
      return *codec::encode(start_worker{.rank = static_cast<std::uint32_t>(make.below(100)), .silence_ms = 1000});
    case 1:
      return *codec::encode(worker_message{.rank = rank, .message = make.content()});
    case 2: {
      auto part = make.make<blob_part>();
      part.blob = number;
      part.size = make.below(8) == 0 ? make.u64() : 1000;
      part.offset = make.below(8) == 0 ? make.u64() : make.below(700);
      return *codec::encode(part);
    }
    case 3:
      return *codec::encode(
          hand_over_blobs{.rank = rank, .name = make.text(), .blobs = {{number, std::nullopt}, {0, make.maybe(rank)}}});
    case 4:
      return *codec::encode(drop_blob{.blob = number});
    case 5:
      return *codec::encode(kill_worker{.rank = rank});
    case 6:
      return *codec::encode(stop_workers{.grace_ms = make.below(2)});
    case 7:
      return *codec::encode(make.make<agent_setup>());
    case 8:
      return *codec::encode(signal_worker{.rank = rank, .number = static_cast<std::uint32_t>(make.below(40))});
    case 9:
      return *codec::encode(apply_fault{.fault = 2 + static_cast<std::uint32_t>(make.below(2)),
                                        .with_workers = static_cast<std::uint32_t>(make.below(3)),
                                        .lasts_ms = make.below(2) == 0 ? make.u64() : 1});
    default: {
      codec::bytes random(make.below(64));
      for (std::byte& each : random) each = make.byte();
      return random;
    }
  }
}

codec::bytes changed_order(codec::bytes message, sample_maker& make) {
  if (message.empty()) return message;
  if (make.below(4) == 0) message[make.below(message.size())] ^= static_cast<std::byte>(1u << make.below(8));
  if (make.below(16) == 0) message.resize(make.below(message.size()));
  return message;
}

std::uint64_t resident_bytes() {
  std::ifstream status("/proc/self/statm");
  std::uint64_t pages = 0;
  status >> pages >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void say(const raw_peer& driver, const codec::bytes& message) {
  driver.say(control_frame{message.size()}, text_of(message));
}

TEST(agent_hostile, a_driver_of_random_words_leaves_nothing_behind) {
  const auto links = *link_loop::create({});
  const agent_setup setup = proper_setup();
  sample_maker make(18);
  const std::uint64_t before = resident_bytes();
  for (int round = 0; round < 150; ++round) {
    auto sockets = std::move(*make_link_sockets());
    raw_peer driver(std::move(sockets.first));
    agent one({.driver = links->open(std::move(sockets.second), link_side::worker),
               .home = {.node = "n1", .address = ""},
               .network = nullptr});
    driver.greet();
    say(driver, *codec::encode(setup));
    for (int i = 0; i < 25; ++i) say(driver, changed_order(some_order(make), make));
    say(driver, message_of("nonsense, if nothing was before"));
    const auto served = one.serve();
    ASSERT_FALSE(served);
    EXPECT_NE(served.error().code, error_code::peer_lost) << to_string(served.error());
    siginfo_t info{};
    EXPECT_NE(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), 0) << "a worker is left";
  }
  // AddressSanitizer keeps 256 MiB of what was freed
  EXPECT_LT(resident_bytes(), before + (sanitized ? 500'000'000 : 200'000'000));
}

}  // namespace
}  // namespace troupe::testing
