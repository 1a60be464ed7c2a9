// Goal: a worker whose frames are broken, by an error of ours or of memory, loses its own link and nothing else.
#include <sstream>

#include "tests/actors/link/link_support.hpp"
#include "tests/actors/link/raw_end.hpp"

namespace troupe::testing {
namespace {

class broken_worker : public ::testing::TestWithParam<std::string> {};

TEST_P(broken_worker, loses_its_link_alone) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  const std::size_t memory = forget_peak();
  raw_end broken(driver.offer());
  broken.say(greeting());
  ASSERT_TRUE(broken.is_answered_within(patience));
  broken.say(GetParam());
  EXPECT_TRUE(broken.is_closed_within(5s));
  driver.answer(message_of("still there"));
  EXPECT_EQ(driver.box().next(), message_of("still there"));
  EXPECT_FALSE(driver.box().has_loss());
  EXPECT_LT(peak_memory_kib(), memory + 16 * 1024);
}

INSTANTIATE_TEST_SUITE_P(frames, broken_worker,
                         ::testing::Values(crashing_header(), basp_header(0, 0, 3, 0, 0), greedy_header(),
                                           basp_header(2, limits::wire_message_bytes_max * 2, 0, 1, 1),
                                           basp_header(9, 0, 0, 0, 0), std::string(64, '\xff'),
                                           greedy_header() + crashing_header()));

TEST(silent_worker, is_closed_after_the_timeout) {
  link_end driver({1000ms});
  raw_end silent(driver.offer());
  silent.say(greeting());
  EXPECT_TRUE(silent.is_answered_within(patience));
  EXPECT_TRUE(silent.is_closed_within(5s));
}

/// CAF itself over a link, in a process of its own: what the checks are about.
struct plain_node {
  std::pair<unique_fd, unique_fd> link = *make_link();
  probe process{{"plain"}, std::move(link.second)};
  raw_end peer{std::move(link.first)};
  std::string pid = process.listener().next_line().value_or("");
};

TEST(plain_node, ends_by_a_handshake_without_payload) {
  plain_node plain;
  plain.peer.say(crashing_header());
  const auto report = plain.process.listener().await_exit();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->kind == exit_kind::exited && report->value == 0) << report->describe();
}

TEST(plain_node, allocates_what_a_header_announces) {
  plain_node plain;
  plain.peer.say(basp_header(2, 256u << 20, 0, 1, 1));
  EXPECT_TRUE(eventually([&] { return peak_memory_kib(plain.pid) > 200u << 10; }));
}

}  // namespace
}  // namespace troupe::testing
