// Goal: what a driver hands over is memory that the workers of a node share, whole and in order, and costs the node no
// more than was written into it. Method: workers say what they find; hashes are computed here as well.
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "tests/runtime/agent_host/agent_node.hpp"
#include "tests/runtime/agent_host/test_blobs.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// FNV-1a, as the worker has it.
std::string fnv_of(std::string_view content) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char each : content) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3u;
  return std::to_string(hash);
}

/// Of the agent, which is in this process.
std::size_t blobs_of_the_agent() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each.path(), gone).string().find("troupe-blob") != std::string::npos) ++count;
  }
  return count;
}

struct ready_node : agent_node {
  ready_node() { be_ready(); }
};

class agent_blobs : public ::testing::Test {
 protected:
  ready_node n1;
  agent_host host = n1.new_host();
  started_worker one{host};
  started_worker other{host};
};

TEST_F(agent_blobs, are_memory_that_workers_of_a_node_share) {
  const blob shared = blob_with("hello");
  ASSERT_TRUE(one.worker->hand_over("edge", {&shared, 1}));
  ASSERT_TRUE(other.worker->hand_over("edge", {&shared, 1}));
  EXPECT_EQ(one.ask("read edge 0 0 5"), "hello");
  EXPECT_EQ(other.ask("read edge 0 0 5"), "hello");
  EXPECT_EQ(one.ask("write edge 0 1 ipp"), "3");
  EXPECT_EQ(other.ask("read edge 0 0 5"), "hippo");
}

TEST_F(agent_blobs, come_in_their_order_and_before_what_is_said_later) {
  for (int i = 0; i < 50; ++i) {
    const std::string name = "input" + std::to_string(i);
    const std::vector<blob> some = {blob_with("first"), blob_with(std::to_string(i)), blob_with("third")};
    ASSERT_TRUE(one.worker->hand_over(name, some));
    one.say("read " + name + " 1 0 10");
    one.say("read " + name + " 2 0 10");
    one.say("count " + name + " 0");
  }
  const auto answers = one.news->events.first(150);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(answers.at(3 * i), "said " + std::to_string(i));
    EXPECT_EQ(answers.at(3 * i + 1), "said third");
    EXPECT_EQ(answers.at(3 * i + 2), "said 3");
  }
}

TEST_F(agent_blobs, of_many_megabytes_with_holes_arrive_whole_and_cost_what_was_written) {
  constexpr std::uint64_t written = costs_more ? mebibyte : 3 * mebibyte;
  constexpr std::uint64_t size = (costs_more ? 5 : 64) * mebibyte + 5;
  std::string content(size, '\0');
  const blob large = empty_blob(size);
  for (const std::uint64_t offset : {std::uint64_t{0}, size / 2 + 1, size - written}) {
    std::string some(written, ' ');
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<char>(((i + offset) * 2654435761u) >> 13u);
    content.replace(offset, some.size(), some);
    write_at(large, offset, some);
  }
  ASSERT_TRUE(one.worker->hand_over("cut", {&large, 1}));
  const std::uint64_t kibibytes = std::stoull(one.ask("kibibytes cut 0"));
  EXPECT_GE(kibibytes, 3 * written >> 10U);
  EXPECT_LE(kibibytes, (3 * written + 11 * mebibyte) >> 10U) << "and the rest of large pages";
  EXPECT_EQ(one.ask("hash cut 0"), fnv_of(content));
}

TEST_F(agent_blobs, full_of_content_arrive_whole) {
  std::string content((costs_more ? 4 : 24) * mebibyte, ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>((i * 2654435761u) >> 13u);
  const blob large = blob_with(content);
  ASSERT_TRUE(one.worker->hand_over("warm-up", {&large, 1}));
  EXPECT_EQ(one.ask("hash warm-up 0"), fnv_of(content));
}

TEST_F(agent_blobs, that_are_not_used_any_more_are_dropped_there) {
  for (int i = 0; i < 20; ++i) {
    const blob edge = blob_with("hello");
    ASSERT_TRUE(one.worker->hand_over("edge" + std::to_string(i), {&edge, 1}));
    EXPECT_EQ(one.ask("read edge" + std::to_string(i) + " 0 0 5"), "hello");
  }
  EXPECT_LE(blobs_of_the_agent(), 2U) << "the last one, and one that is dropped with the next";
  EXPECT_EQ(one.ask("read edge0 0 0 5"), "hello") << "the worker's own descriptor stays";
}

// --- pages -----------------------------------------------------------------------------------------------------------

TEST_F(agent_blobs, page_of_one_worker_is_that_page_in_another) {
  const blob page = *one.worker->page();
  ASSERT_TRUE(other.worker->hand_over("neighbour", {&page, 1}));
  EXPECT_EQ(other.ask("work neighbour 0 55"), "done");
  const auto give_up_at = in_time();
  while (one.worker->telemetry().samples != 55 && std::chrono::steady_clock::now() < give_up_at) {
    std::this_thread::yield();
  }
  EXPECT_EQ(one.worker->telemetry().samples, 55U);
  EXPECT_EQ(other.worker->telemetry().samples, 0U);
}

TEST_F(agent_blobs, page_of_a_worker_that_has_ended_is_one_that_is_not_used) {
  const blob page = *one.worker->page();
  one.say("exit 0");
  ASSERT_TRUE(one.news->end());
  ASSERT_TRUE(other.worker->hand_over("neighbour", {&page, 1}));
  EXPECT_EQ(other.ask("work neighbour 0 55"), "done") << "it is a page";
}

// --- workers that take nothing ---------------------------------------------------------------------------------------

TEST_F(agent_blobs, too_many_at_once_are_refused_as_on_the_host_of_the_driver) {
  const std::vector<blob> many(limits::channel_fds_max + 1, blob_with("x"));
  const auto refused = one.worker->hand_over("many", many);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::wire_too_large);
  const auto nameless = one.worker->hand_over("", std::span(many).first(1));
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code, error_code::wire_too_large);
  EXPECT_EQ(one.ask("echo alive"), "alive");
}

TEST_F(agent_blobs, a_frozen_worker_is_ended_and_its_node_takes_large_ones_after_it) {
  EXPECT_EQ(one.ask("echo ready"), "ready");
  ASSERT_EQ(::kill(static_cast<pid_t>(*one.worker->pid()), SIGSTOP), 0);
  const blob small = blob_with("x");
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(one.worker->hand_over("small", {&small, 1}));
  // more than may wait at a link, while the agent waits for the frozen one
  std::string content(costs_more ? 2 * limits::blob_bytes_on_way_max : limits::link_bytes_queued_max + 16 * mebibyte,
                      ' ');
  for (std::size_t i = 0; i < content.size(); i += 4096) content[i] = static_cast<char>(i >> 12u);
  const blob large = blob_with(content);
  const auto given = other.worker->hand_over("large", {&large, 1});
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_GE(std::stoull(other.ask("kibibytes large 0")), content.size() >> 10U);
  EXPECT_EQ(other.ask("read large 0 40960 1"), std::string(1, '\n'));
  const auto end = one.news->end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->value, SIGKILL);
  EXPECT_TRUE(n1.log.has("takes no descriptors")) << "the reason is in the log";
}

}  // namespace
}  // namespace troupe::testing
