// Goal: a member whose frames are broken, by an error of ours or of memory, loses its own connection and nothing else.
#include <troupe/tests/actors/secure/link_support.hpp>
#include <troupe/tests/actors/secure/raw_client.hpp>

namespace troupe::testing {
namespace {

class broken_member : public ::testing::TestWithParam<std::string> {};

TEST_P(broken_member, loses_its_connection_alone) {
  link_end driver;
  auto worker = probe::echo_of(driver);
  const std::size_t memory = forget_peak();
  tls_visitor member(driver.port(), {our_run().ca_certificate, our_run().worker});
  ASSERT_TRUE(member.is_welcome());
  member.say(GetParam());
  EXPECT_TRUE(member.is_closed_within(5s));
  driver.answer(message_of("still there"));
  EXPECT_EQ(driver.box().next(), message_of("still there"));
  EXPECT_FALSE(driver.box().has_loss());
  EXPECT_LT(peak_memory_kib(), memory + 16 * 1024);
}

INSTANTIATE_TEST_SUITE_P(frames, broken_member,
                         ::testing::Values(crashing_header(), basp_header(0, 0, 3, 0, 0), greedy_header(),
                                           basp_header(2, limits::wire_message_bytes_max * 2, 0, 1, 1),
                                           basp_header(9, 0, 0, 0, 0), std::string(64, '\xff'),
                                           greedy_header() + crashing_header()));

TEST(silent_member, is_closed_after_the_timeout) {
  link_end driver({1000ms});
  tls_visitor member(driver.port(), {our_run().ca_certificate, our_run().worker});
  ASSERT_TRUE(member.is_welcome());
  EXPECT_TRUE(member.is_closed_within(5s));
}

}  // namespace
}  // namespace troupe::testing
