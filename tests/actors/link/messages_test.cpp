// Goal: bytes travel both ways between two processes, intact and in order, whatever their number.
#include "tests/actors/link/link_support.hpp"

namespace troupe::testing {
namespace {

wire_message pattern(std::size_t size) {
  wire_message message;
  message.bytes.resize(size);
  std::uint32_t state = 1;
  for (auto& byte : message.bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  return message;
}

TEST(control_link, carries_all_sizes_both_ways) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  for (const std::size_t size : {0u, 1u, 32u, 16384u, 1u << 20}) {
    driver.answer(pattern(size));
    EXPECT_EQ(driver.box().next(), pattern(size)) << size;
  }
}

TEST(control_link, carries_the_greatest_message) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  const auto message = pattern(limits::wire_message_bytes_max);
  driver.answer(message);
  EXPECT_TRUE(driver.box().next() == message);
}

TEST(control_link, keeps_the_order_of_many) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  constexpr std::uint32_t count = 10'000;
  const wire_actor peer = driver.box().last_sender();
  for (std::uint32_t i = 0; i < count; ++i) post(peer, message_of(std::to_string(i)));
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(driver.box().next(), message_of(std::to_string(i)));
}

TEST(control_link, serves_several_workers) {
  link_end driver;
  std::vector<probe> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(probe::echo_of(driver));
    driver.answer(message_of("worker " + std::to_string(i)));
    EXPECT_EQ(driver.box().next(), message_of("worker " + std::to_string(i)));
  }
  EXPECT_FALSE(driver.box().has_loss());
}

}  // namespace
}  // namespace troupe::testing
