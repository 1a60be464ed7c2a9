// Goal: launcher and driver understand each other, and take nothing else for a message.
// Method: lines as the format has them, written by hand; then every prefix, changed byte and missing member of them.
#include "runtime/launch/launch_message.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "messages/limits.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

launch_setup full_setup() {
  launch_setup setup;
  setup.nodes = {{"w0", {0, 1}}, {"w1", {3}}};
  setup.driver_node = 1;
  setup.addresses = {"10.9.0.1", "w1"};
  setup.port = 4000;
  setup.join_timeout = 60s;
  setup.worker_timeout = 1500ms;
  setup.grace = 30s;
  setup.allow_shrink = true;
  setup.placement = "w0:0,w1:3";
  setup.environment = {{"A", "b=\"c\"\n"}, {"OMP_NUM_THREADS", ""}};
  setup.bind_cores = true;
  setup.log_dir = "/tmp/logs";
  setup.tee = true;
  return setup;
}

constexpr const char* full_line =
    R"({"launch":{"nodes":[{"name":"w0","slots":[0,1]},{"name":"w1","slots":[3]}],"driver_node":1,)"
    R"("addresses":["10.9.0.1","w1"],"port":4000,"join_timeout_ms":60000,"worker_timeout_ms":1500,"grace_ms":30000,)"
    R"("allow_shrink":true,"placement":"w0:0,w1:3","environment":[["A","b=\"c\"\n"],["OMP_NUM_THREADS",""]],)"
    R"("bind_cores":true,"log_dir":"/tmp/logs","tee":true}})";

launch_setup bare_setup() {
  launch_setup setup;
  setup.nodes = {{"w0", {0}}};
  setup.addresses = {"w0"};
  return setup;
}

constexpr const char* bare_line =
    R"({"launch":{"nodes":[{"name":"w0","slots":[0]}],"driver_node":null,"addresses":["w0"],"port":0,)"
    R"("join_timeout_ms":0,"worker_timeout_ms":null,"grace_ms":0,"allow_shrink":false,"placement":null,)"
    R"("environment":[],"bind_cores":false,"log_dir":null,"tee":false}})";

const std::vector<std::pair<launch_message, std::string>>& known_lines() {
  static const std::vector<std::pair<launch_message, std::string>> lines = {
      {full_setup(), full_line},
      {bare_setup(), bare_line},
      {launch_ticket{"w1", "troupe-join-1:abc"}, R"({"ticket":{"node":"w1","text":"troupe-join-1:abc"}})"},
      {launch_joined{"w1"}, R"({"joined":"w1"})"},
      {launch_end_asked{"w1"}, R"({"end_asked":"w1"})"},
      {launch_agent_failed{"w1", node_failed("w1", "Connection refused", "look at it")},
       R"({"agent_failed":{"node":"w1","why":{"code":618,"where":"node w1","cause":"Connection refused","fix":"look at it"}}})"},
      {launch_stop{15}, R"({"stop":{"signal":15}})"},
  };
  return lines;
}

TEST(launch_message, has_the_written_form) {
  for (const auto& [message, line] : known_lines()) {
    const auto encoded = encode(message);
    ASSERT_TRUE(encoded) << to_string(encoded.error());
    EXPECT_EQ(*encoded, line + "\n");
    const auto parsed = parse_launch_message(line);
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    EXPECT_EQ(*parsed, message);
  }
}

TEST(launch_message, no_prefix_is_taken) {
  for (const auto& [message, line] : known_lines()) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto parsed = parse_launch_message(line.substr(0, i));
      ASSERT_FALSE(parsed) << line.substr(0, i);
      EXPECT_EQ(parsed.error().code, error_code::wire_malformed);
    }
  }
}

TEST(launch_message, no_member_may_be_absent_unknown_or_of_another_type) {
  const auto full = nlohmann::json::parse(full_line);
  for (const auto& [name, _] : full["launch"].items()) {
    auto changed = full;
    changed["launch"].erase(name);
    EXPECT_FALSE(parse_launch_message(changed.dump())) << name;
    changed["launch"]["other"] = 1;
    EXPECT_FALSE(parse_launch_message(changed.dump())) << name;
    changed = full;
    changed["launch"][name] = nlohmann::json::object({{"a", 1}});
    EXPECT_FALSE(parse_launch_message(changed.dump())) << name;
  }
}

TEST(launch_message, values_out_of_range_are_refused) {
  const auto full = nlohmann::json::parse(full_line);
  const std::vector<std::pair<const char*, nlohmann::json>> bad = {
      {"/launch/nodes", nlohmann::json::array()},
      {"/launch/nodes/0/name", ""},
      {"/launch/nodes/0/name", std::string(254, 'a')},
      {"/launch/nodes/0/slots", nlohmann::json::array()},
      {"/launch/nodes/0/slots/0", limits::node_slots_max},
      {"/launch/nodes/0/slots/0", -1},
      {"/launch/nodes/0/slots/0", 0.5},
      {"/launch/driver_node", 2},
      {"/launch/addresses", nlohmann::json::array()},
      {"/launch/addresses", std::vector<std::string>(limits::join_addresses_max + 1, "a")},
      {"/launch/port", 65536},
      {"/launch/grace_ms", -1},
      {"/launch/join_timeout_ms", 1e300},
      {"/launch/environment/0", std::vector<std::string>{"A"}},
      {"/launch/environment/0/1", 7},
      {"/launch/tee", 1},
  };
  for (const auto& [where, value] : bad) {
    auto changed = full;
    changed[nlohmann::json::json_pointer(where)] = value;
    EXPECT_FALSE(parse_launch_message(changed.dump())) << where << " " << value;
  }
}

TEST(launch_message, other_texts_are_refused) {
  const std::string deep(100'000, '[');
  for (const std::string& text : {std::string("null"), std::string("{}"), std::string("[]"), std::string("7"),
                                  std::string(R"({"joined":"w1","stop":{"signal":1}})"), std::string(R"({"joined":7})"),
                                  std::string(R"({"other":{"a":1,"b":2}})"), std::string(R"({"stop":{"signal":65}})"),
                                  std::string(R"({"joined":"w1"} x)"), deep, std::string("\xff\xfe")}) {
    const auto parsed = parse_launch_message(text);
    ASSERT_FALSE(parsed) << text.substr(0, 40);
    EXPECT_EQ(parsed.error().code, error_code::wire_malformed) << text.substr(0, 40);
  }
}

TEST(launch_message, an_error_shows_no_secret) {
  const auto parsed = parse_launch_message(R"({"ticket":{"node":7,"text":"troupe-join-1:geheim"}})");
  ASSERT_FALSE(parsed);
  EXPECT_THAT(to_string(parsed.error()), Not(HasSubstr("geheim")));
}

TEST(launch_message, a_longer_line_is_refused_on_both_sides) {
  launch_setup setup = bare_setup();
  setup.environment = {{"A", std::string(limits::launch_line_bytes_max, 'x')}};
  EXPECT_EQ(encode(setup).error().code, error_code::wire_too_large);
  EXPECT_EQ(parse_launch_message(std::string(limits::launch_line_bytes_max + 1, ' ')).error().code,
            error_code::wire_too_large);
}

TEST(launch_message, all_nodes_with_all_slots_fit_a_line) {
  if (sanitized) GTEST_SKIP() << "a number; the code is that of small setups";
  launch_setup setup = bare_setup();
  setup.nodes.clear();
  constexpr std::size_t slots = limits::ranks_max / limits::launch_nodes_max;
  for (std::uint32_t i = 0; i < limits::launch_nodes_max; ++i) {
    setup.nodes.push_back({std::to_string(i) + std::string(limits::node_name_bytes_max - 5, 'n'), {}});
    setup.nodes.back().slots.assign(slots, limits::node_slots_max - 1);
  }
  setup.environment = {{"A", std::string(limits::launch_variables_bytes_max, '"')}};
  const auto line = encode(setup);
  ASSERT_TRUE(line) << to_string(line.error());
  EXPECT_EQ(std::get<launch_setup>(*parse_launch_message(*line)), setup);
}

TEST(launch_message, bytes_that_are_no_text_are_an_error_but_in_a_cause) {
  launch_setup setup = bare_setup();
  setup.environment = {{"A", "\xff"}};
  EXPECT_EQ(encode(setup).error().code, error_code::value_out_of_range);
  const auto line = encode(launch_agent_failed{"w1", node_failed("w1", "bad \xff byte")});
  ASSERT_TRUE(line);
  EXPECT_EQ(std::get<launch_agent_failed>(*parse_launch_message(*line)).why.cause, "bad \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace troupe::testing
