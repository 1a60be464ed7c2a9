// Goal: a hostfile gives the nodes that it says, and every fault in one is reported with its place. Method: small
// texts, with lines and columns counted by hand.
#include "runtime/launch/hostfile.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/launch/node_name.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using node_vector = std::vector<launch_node>;

struct good_hostfile {
  std::string text;
  node_vector nodes;
};

TEST(hostfile, gives_nodes_in_the_order_of_the_file) {
  const good_hostfile table[] = {
      // of DeepSpeed's page on resource configuration
      {"worker-1 slots=4\nworker-2 slots=4\n", {{"worker-1", 4}, {"worker-2", 4}}},
      {"b slots=1\na slots=2", {{"b", 1}, {"a", 2}}},
      {"# nodes\n\n  \t\nw0 slots=8\n#w1 slots=8\n", {{"w0", 8}}},
      {"w0 slots=8 # the big one\nw1 slots=2#small", {{"w0", 8}, {"w1", 2}}},
      {"\t w0 \t slots=3 \r\nw1 slots=03\r\n", {{"w0", 3}, {"w1", 3}}},
      {"gpu_1.rack-2.example.org slots=4096", {{"gpu_1.rack-2.example.org", 4096}}},
      {"10.0.0.1 slots=1\n10.0.0.2 slots=2", {{"10.0.0.1", 1}, {"10.0.0.2", 2}}},
      {"[2001:DB8::1] slots=1\n2001:db8:0:0::2 slots=2", {{"2001:db8::1", 1}, {"2001:db8::2", 2}}},
      {"fe80::1%eth0 slots=1\n[fe80::1%ib0] slots=1", {{"fe80::1%eth0", 1}, {"fe80::1%ib0", 1}}},
      // names are compared as they are written: ssh's aliases differ in case
      {"W0 slots=1\nw0 slots=1", {{"W0", 1}, {"w0", 1}}},
      {std::string(63, 'a') + " slots=1", {{std::string(63, 'a'), 1}}},
      // a name alone, as the scheduler's default
      {"w0\nw1  # slots=4\nw2 slots=2\n::1", {{"w0", 1}, {"w1", 1}, {"w2", 2}, {"::1", 1}}},
      // of Open MPI's page on mpirun
      {"aa slots=2 max_slots=4\nbb max-slots=2 slots=2\n", {{"aa", 2}, {"bb", 2}}},
      {"\xef\xbb\xbfw0 slots=4\r\nw1 slots=4\r\n", {{"w0", 4}, {"w1", 4}}},
  };
  for (const good_hostfile& good : table) {
    const auto nodes = parse_hostfile(good.text, "hosts");
    ASSERT_TRUE(nodes) << good.text << '\n' << to_string(nodes.error());
    EXPECT_EQ(*nodes, good.nodes) << good.text;
  }
}

struct bad_hostfile {
  std::string text;
  error_code code;
  const char* where;
  const char* words;
};

constexpr auto bad_syntax = error_code::config_syntax;
constexpr auto bad_value = error_code::config_bad_value;

template <std::size_t Rows>
void expect_bad(const bad_hostfile (&table)[Rows]) {
  for (const bad_hostfile& bad : table) {
    const auto nodes = parse_hostfile(bad.text, "hosts");
    ASSERT_FALSE(nodes) << bad.text;
    EXPECT_EQ(nodes.error().code, bad.code) << bad.text;
    EXPECT_EQ(nodes.error().where, bad.where) << bad.text;
    EXPECT_THAT(nodes.error().cause, HasSubstr(bad.words));
    EXPECT_NE(nodes.error().fix, "");
  }
}

TEST(hostfile, names_place_and_cause_of_bad_slots) {
  const bad_hostfile table[] = {
      {"", bad_value, "hosts", "has no node"},
      {"\n# w0 slots=4\n", bad_value, "hosts", "has no node"},
      {"w0 max_slots=4", bad_syntax, "hosts:1:15", "slots=N is missing beside max_slots"},
      {"w0 max_slots=4 # slots=4", bad_syntax, "hosts:1:15", "slots=N is missing"},
      {"w0 max_slots=4 slots=4 max-slots=4", bad_syntax, "hosts:1:24", "'max-slots=4' stands behind"},
      {"w0 max_slots=4 8", bad_syntax, "hosts:1:16", "'8' stands behind"},
      {"w0 slots=4 max_slots=x", bad_syntax, "hosts:1:22", "'x' is no number"},
      {"w0 slots=4 max_slots=2", bad_value, "hosts:1:12", "max_slots=2 is less than slots=4"},
      {"w0 slots=4 max_slots=4097", bad_value, "hosts:1:22", "4097 slots"},
      {"\xef\xbb\xbfw0 4", bad_syntax, "hosts:1:4", "'4' is found"},
      {"w0 \xef\xbb\xbf", bad_syntax, "hosts:1:4", "is found, slots=N is expected"},
      {"\xef\xbb\xbf", bad_value, "hosts", "has no node"},
      {"slots=4", bad_syntax, "hosts:1:6", "has no '='"},
      {"w0 4", bad_syntax, "hosts:1:4", "'4' is found, slots=N is expected"},
      {"w0 Slots=4", bad_syntax, "hosts:1:4", "'Slots=4' is found"},
      {"w0 slots = 4", bad_syntax, "hosts:1:4", "'slots' is found"},
      {"w0 slots=", bad_syntax, "hosts:1:10", "'' is no number"},
      {"w0 slots=four", bad_syntax, "hosts:1:10", "'four' is no number"},
      {"w0 slots=-1", bad_syntax, "hosts:1:10", "'-1' is no number"},
      {"w0 slots=+1", bad_syntax, "hosts:1:10", "'+1' is no number"},
      {"w0 slots=4x", bad_syntax, "hosts:1:10", "'4x' is no number"},
      {"w0 slots=0", bad_value, "hosts:1:10", "0 slots, a node has 1 to 4096"},
      {"w0 slots=4097", bad_value, "hosts:1:10", "4097 slots"},
      {"w0 slots=18446744073709551617", bad_value, "hosts:1:10", "slots, a node has"},
      {"w0 slots=4 cpus=8", bad_syntax, "hosts:1:12", "'cpus=8' stands behind"},
      {"w0 slots=4 slots=4", bad_syntax, "hosts:1:12", "'slots=4' stands behind"},
  };
  expect_bad(table);
}

TEST(hostfile, names_place_and_cause_of_a_bad_name) {
  const bad_hostfile table[] = {
      {"w0 slots=4\nw1 slots=4\n\nw0 slots=2", bad_value, "hosts:4:1", "'w0' stands in line 1"},
      {"::1 slots=4\n [0::1] slots=4", bad_value, "hosts:2:2", "'::1' stands in line 1"},
      {"user@w0 slots=4", bad_syntax, "hosts:1:5", "has no '@'"},
      {"w/0 slots=4", bad_syntax, "hosts:1:2", "has no '/'"},
      {"-oProxyCommand=x slots=4", bad_syntax, "hosts:1:15", "has no '='"},
      {"  -w slots=4", bad_syntax, "hosts:1:3", "does not start with '-'"},
      {".w slots=4", bad_syntax, "hosts:1:1", "between dots is empty"},
      {"w..x slots=4", bad_syntax, "hosts:1:3", "between dots is empty"},
      {"w. slots=4", bad_syntax, "hosts:1:3", "between dots is empty"},
      {"knoten\xc3\xbc slots=4", bad_syntax, "hosts:1:7", "has no '\\xc3'"},
      {std::string("w\0 slots=4", 10), bad_syntax, "hosts:1:2", "has no '\\x00'"},
      {"10.0.0.256 slots=4", bad_syntax, "hosts:1:1", "'10.0.0.256' is no IPv4 address"},
      {"7 slots=4", bad_syntax, "hosts:1:1", "'7' is no IPv4 address"},
      {"w0:22 slots=4", bad_syntax, "hosts:1:3", "a node's name has no ':', and no number behind it: 'w0:22'"},
      {"hostA:1", bad_syntax, "hosts:1:6", "'hostA:1'"},
      {"10.0.0.1:x", bad_syntax, "hosts:1:9", "'10.0.0.1:x'"},
      {"root@::1 slots=4", bad_syntax, "hosts:1:5", "has no '@'"},
      {"1::h slots=4", bad_syntax, "hosts:1:4", "an IPv6 address has no 'h'"},
      {"1::2::3 slots=4", bad_syntax, "hosts:1:1", "is no IPv6 address"},
      {"[::1 slots=4", bad_syntax, "hosts:1:5", "']' is missing"},
      {"[::1]:22 slots=4", bad_syntax, "hosts:1:6", "':22' stands behind ']'"},
      {"[] slots=4", bad_syntax, "hosts:1:2", "is no IPv6 address"},
      {"fe80::1% slots=4", bad_syntax, "hosts:1:9", "'' is no zone"},
      {"[fe80::1%e/0] slots=4", bad_syntax, "hosts:1:10", "'e/0' is no zone"},
      {std::string(64, 'a') + " slots=1", bad_syntax, "hosts:1:1", "more than 63 bytes"},
      {std::string(254, 'a') + " slots=1", bad_syntax, "hosts:1:254", "at most 253 bytes"},
  };
  expect_bad(table);
}

TEST(hostfile, says_where_a_user_a_port_and_a_count_go) {
  const error user = parse_hostfile("root@10.0.0.1 slots=2", "hosts").error();
  EXPECT_EQ(user.fix,
            "write 10.0.0.1, and give the user to ssh: --ssh \"ssh -o BatchMode=yes -l root\", or for this node \"Host "
            "10.0.0.1\" and \"User root\" in ~/.ssh/config");
  const error port = parse_hostfile("w0:2222 slots=2", "hosts").error();
  EXPECT_EQ(port.fix,
            "write \"w0 slots=2222\" if it counts slots, or give a port to ssh: --ssh \"ssh -o BatchMode=yes -p "
            "2222\", or for "
            "this node \"Host w0\" and \"Port 2222\" in ~/.ssh/config");
  EXPECT_THAT(parse_hostfile("w0:50022", "hosts").error().fix, StartsWith("give a port to ssh"));
  EXPECT_THAT(parse_hostfile("[::1]:22 slots=2", "hosts").error().fix, HasSubstr("\"Port\" in ~/.ssh/config"));
  // bytes that a fix could not repeat are not repeated
  for (const char* odd : {"a b@c", "@w0", "w0@", "a;b@c", "w0:1;x", ":1", "w0:0", "w0:65536"}) {
    const error e = parse_hostfile(odd, "hosts").error();
    EXPECT_THAT(e.fix, HasSubstr("worker-0 slots=4")) << odd;
  }
}

TEST(hostfile, has_so_many_nodes_and_no_more) {
  std::string text;
  for (std::uint32_t i = 0; i < limits::launch_nodes_max; ++i) text += fmt::format("w{} slots=1\n", i);
  const auto most = parse_hostfile(text, "hosts");
  ASSERT_TRUE(most) << to_string(most.error());
  EXPECT_EQ(most->size(), limits::launch_nodes_max);
  const auto more = parse_hostfile(text + "last slots=1", "hosts");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, bad_value);
  EXPECT_EQ(more.error().where, "hosts:10001:1");
}

TEST(hostfile, has_so_many_bytes_and_no_more) {
  std::string text = "w0 slots=1\n#";
  text.resize(limits::hostfile_bytes_max, ' ');
  EXPECT_TRUE(parse_hostfile(text, "hosts"));
  const auto longer = parse_hostfile(text + ' ', "hosts");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, bad_syntax);
  EXPECT_EQ(longer.error().where, "hosts");
}

TEST(hostfile, is_read_from_a_file) {
  const auto path = std::filesystem::path(::testing::TempDir()) / fmt::format("troupe_hosts_{}", ::getpid());
  std::ofstream(path) << "w0 slots=4\nw1 4\n";
  const auto bad = read_hostfile(path);
  std::ofstream(path) << "w0 slots=4\n";
  const auto good = read_hostfile(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().where, path.string() + ":2:4");
  ASSERT_TRUE(good) << to_string(good.error());
  EXPECT_EQ(*good, (node_vector{{"w0", 4}}));
}

TEST(hostfile, that_cannot_be_read_is_an_error) {
  for (const std::string path : {"/nowhere/hosts", "/", ""}) {
    const auto nodes = read_hostfile(path);
    ASSERT_FALSE(nodes) << path;
    EXPECT_EQ(nodes.error().code, error_code::config_missing) << path;
    EXPECT_EQ(nodes.error().where, path);
  }
  EXPECT_EQ(read_hostfile("/dev/zero").error().code, bad_syntax);
}

}  // namespace
}  // namespace troupe
