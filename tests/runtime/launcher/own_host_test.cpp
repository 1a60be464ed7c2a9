// Goal: a launcher knows which node is its own, and where others find it.
// Method: hosts made up for the table; the real one where the kernel is asked.
#include "runtime/launcher/own_host.hpp"

#include <gmock/gmock.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const own_host short_named{"w0", {"127.0.0.1", "::1", "10.9.0.1", "fd00::1"}};
const own_host long_named{"w0.cluster.local", {"127.0.0.1"}};

std::vector<node_slots> nodes_named(const std::vector<std::string>& names) {
  std::vector<node_slots> nodes;
  for (const std::string& name : names) nodes.push_back({name, {0}});
  return nodes;
}

TEST(own_host, is_meant_by_its_names_and_addresses) {
  for (const char* name : {"w0", "W0", "localhost", "10.9.0.1", "127.0.0.1", "fd00::1", "w0.cluster.local"})
    EXPECT_TRUE(means_host(name, short_named)) << name;
  for (const char* name : {"w1", "w00", "10.9.0.2", "127.0.0.2", "w1.w0", "w0x.cluster"})
    EXPECT_FALSE(means_host(name, short_named)) << name;
  EXPECT_TRUE(means_host("w0", long_named));
  EXPECT_TRUE(means_host("w0.Cluster.local", long_named));
  EXPECT_FALSE(means_host("w0.other.local", long_named));
  EXPECT_FALSE(means_host("10.9.0.1", own_host{"10", {}})) << "digits are an address";
  EXPECT_FALSE(means_host("w0", own_host{}));
}

TEST(own_host, is_the_first_node_that_means_it) {
  EXPECT_EQ(find_own_node(nodes_named({"w1", "w0", "localhost"}), short_named), 1u);
  EXPECT_EQ(find_own_node(nodes_named({"w1", "w2"}), short_named), std::nullopt);
}

TEST(own_host, of_this_machine_has_a_name_and_loopback) {
  const own_host host = read_own_host();
  EXPECT_FALSE(host.name.empty());
  EXPECT_THAT(host.addresses, Contains("127.0.0.1"));
}

TEST(driver_addresses, of_the_user_are_all) {
  const auto given =
      driver_addresses(std::vector<std::string>{"[fd00::0:7]", "head"}, nodes_named({"w1"}), {}, short_named);
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_THAT(*given, ElementsAre("fd00::7", "head"));
  for (const std::string text : {"", "a b", "-oProxyCommand=x", "head:22", "1"}) {
    const auto bad = driver_addresses(std::vector<std::string>{text}, nodes_named({"w1"}), {}, short_named);
    ASSERT_FALSE(bad) << text;
    EXPECT_EQ(bad.error().code, error_code::value_out_of_range);
  }
  const std::vector<std::string> many(limits::join_addresses_max + 1, "head");
  EXPECT_FALSE(driver_addresses(many, nodes_named({"w1"}), {}, short_named));
}

TEST(driver_addresses, are_found_by_the_route_to_the_first_other_node) {
  EXPECT_EQ(address_towards("127.0.0.2"), "127.0.0.1");
  EXPECT_EQ(address_towards("no.such.name.invalid"), std::nullopt);
  const auto second = driver_addresses({}, nodes_named({"w0", "127.0.0.2"}), 0, short_named);
  ASSERT_TRUE(second);
  EXPECT_THAT(*second, ElementsAre("127.0.0.1", "w0"));
  const auto first = driver_addresses({}, nodes_named({"127.0.0.2", "w0"}), 1, short_named);
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, ElementsAre("127.0.0.1", "w0"));
}

TEST(driver_addresses, without_a_route_are_the_own_ones_but_loopback) {
  const auto found = driver_addresses({}, nodes_named({"no.such.name.invalid"}), {}, short_named);
  ASSERT_TRUE(found);
  EXPECT_THAT(*found, ElementsAre("10.9.0.1", "fd00::1", "w0"));
  EXPECT_THAT(*driver_addresses({}, nodes_named({"w0"}), 0, own_host{}), ElementsAre("127.0.0.1"));
}

}  // namespace
}  // namespace troupe::testing
