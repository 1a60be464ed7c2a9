// Goal: connections of the nodes that a hostfile names are known by their addresses, and a name that does not resolve
// delays nothing for long.
#include "runtime/join/find_nodes.hpp"

#include <gmock/gmock.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

bool has(const expected_addresses& known, const char* address) {
  return known.has(origin_of(asio::ip::make_address(address)));
}

TEST(expected_addresses, are_those_of_ipv4_and_networks_of_ipv6) {
  expected_addresses known;
  EXPECT_TRUE(known.add("192.0.2.7"));
  EXPECT_TRUE(known.add("2001:db8:1:2::7"));
  EXPECT_FALSE(known.add("w1"));
  EXPECT_FALSE(known.add(""));
  EXPECT_TRUE(has(known, "192.0.2.7"));
  EXPECT_TRUE(has(known, "::ffff:192.0.2.7")) << "as a socket that listens on both sees it";
  EXPECT_FALSE(has(known, "192.0.2.8"));
  EXPECT_TRUE(has(known, "2001:db8:1:2:ffff::1"));
  EXPECT_FALSE(has(known, "2001:db8:1:3::7"));
}

TEST(expected_addresses, are_no_more_than_a_launch_has_nodes) {
  expected_addresses known;
  for (std::uint32_t i = 0; i < limits::launch_nodes_max; ++i)
    EXPECT_TRUE(known.add(asio::ip::make_address_v4(0x0a000000 + i).to_string()));
  EXPECT_FALSE(known.add("192.0.2.7"));
  EXPECT_TRUE(known.add("10.0.0.0"));
}

TEST(find_nodes, knows_numbers_at_once_and_names_when_they_resolve) {
  const auto known = std::make_shared<expected_addresses>();
  ASSERT_TRUE(find_nodes({"192.0.2.7", "localhost"}, known, steady_clock::now() + 60s, 60s));
  EXPECT_TRUE(has(*known, "192.0.2.7"));
  EXPECT_TRUE(has(*known, "127.0.0.1") || has(*known, "::1"));
}

TEST(find_nodes, waits_no_longer_than_it_is_told_for_a_name_that_does_not_resolve) {
  const auto known = std::make_shared<expected_addresses>();
  const auto since = steady_clock::now();
  ASSERT_TRUE(find_nodes({"no-such-host.invalid", "192.0.2.7"}, known, since + 500ms, 100ms));
  EXPECT_LT(steady_clock::now() - since, 20s);
  EXPECT_TRUE(has(*known, "192.0.2.7"));
}

}  // namespace
}  // namespace troupe::testing
