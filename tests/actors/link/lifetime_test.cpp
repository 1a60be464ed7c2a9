// Goal: a system with links ends in bounded time whatever its peers do, and leaves no descriptor behind.
#include <csignal>

#include "tests/actors/link/link_support.hpp"
#include "tests/actors/link/raw_end.hpp"

namespace troupe::testing {
namespace {

clock::duration time_to_end(std::unique_ptr<link_end> driver) {
  const auto began = clock::now();
  driver.reset();
  return clock::now() - began;
}

TEST(lifetime, ends_at_once_beside_a_living_peer) {
  auto driver = std::make_unique<link_end>();
  auto worker = probe::echo_of(*driver);
  EXPECT_LT(time_to_end(std::move(driver)), 2s);
}

TEST(lifetime, ends_at_once_beside_a_dead_peer) {
  auto driver = std::make_unique<link_end>();
  auto worker = probe::echo_of(*driver);
  worker.signal(SIGKILL);
  EXPECT_LT(time_to_end(std::move(driver)), 2s);
}

TEST(lifetime, ends_at_once_beside_a_frozen_peer) {
  auto driver = std::make_unique<link_end>();
  auto worker = probe::echo_of(*driver);
  worker.signal(SIGSTOP);
  EXPECT_LT(time_to_end(std::move(driver)), 2s);
}

TEST(lifetime, ends_at_once_if_a_frozen_peer_has_not_read_all) {
  auto driver = std::make_unique<link_end>();
  auto worker = probe::echo_of(*driver);
  worker.signal(SIGSTOP);
  wire_message large;
  large.bytes.resize(32u << 20);  // more than the kernel takes
  driver->answer(large);
  EXPECT_LT(time_to_end(std::move(driver)), 2s);
}

TEST(lifetime, ends_at_once_beside_a_worker_that_has_not_greeted) {
  auto driver = std::make_unique<link_end>();
  raw_end early(driver->offer());
  EXPECT_LT(time_to_end(std::move(driver)), 2s);
  EXPECT_TRUE(early.is_closed_within(2s));
}

TEST(lifetime, leaves_no_descriptor) {
  const auto once = [] {
    link_end driver;
    link_end worker;
    const auto found = worker.join(driver.offer());
    static_cast<void>(driver.offer());  // one that ends before it has greeted
    ASSERT_TRUE(found) << to_string(found.error());
    caf::scoped_actor self{worker.system()};
    self->send(*found, message_of("hello"));
    EXPECT_EQ(driver.box().next(), message_of("hello"));
  };
  once();  // CAF keeps some for the process
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) once();
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace troupe::testing
