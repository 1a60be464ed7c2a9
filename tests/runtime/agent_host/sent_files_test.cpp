// Goal: whatever an agent answers, a driver sends no more than it may, and takes no answer for another. Method: answers
// of no agent, given while a thread provides a file, or afterwards.
#include "runtime/agent_host/sent_files.hpp"

#include <atomic>
#include <future>

#include "messages/limits.hpp"
#include "tests/runtime/agent_host/file_node.hpp"

namespace troupe::testing {
namespace {

constexpr auto fetching = static_cast<std::uint32_t>(file_state::fetching);
constexpr auto here = static_cast<std::uint32_t>(file_state::here);

class sent_files_test : public ::testing::Test {
 protected:
  sent_files_test()
      : files_("w1", {.check = [this](const check_file& asked) { on_check_(asked); },
                      .send = [this](const file_part& part) { on_part_(part); }}) {}

  expected<void> say(std::uint64_t number, std::uint32_t state, std::uint64_t bytes) {
    return files_.answered({number, state, bytes});
  }
  expected<void> provide(const file_identity& file) { return files_.provide(file, in_file_time(), {}); }

  file_folder folder_;
  std::function<void(const check_file&)> on_check_ = [](const check_file&) {};
  std::function<void(const file_part&)> on_part_ = [](const file_part&) {};
  sent_files files_;
};

TEST_F(sent_files_test, answers_that_no_agent_gives_are_refused) {
  const auto file = folder_.write(folder_.path("m"), "weights");
  EXPECT_FALSE(say(1, here, 0)) << "nothing was asked";
  on_check_ = [&](const check_file& asked) {
    const std::uint64_t now = asked.number;
    EXPECT_FALSE(say(now + 1, here, 7));
    EXPECT_FALSE(say(~0ull, here, 7));
    EXPECT_FALSE(say(now, here + 1, 7));
    EXPECT_FALSE(say(now, ~0u, 7));
    EXPECT_FALSE(say(now, here, 8)) << "more than the file has";
    EXPECT_FALSE(say(now, 0, 0)) << "it says nothing new";
    ASSERT_TRUE(say(now, here, 7));
    EXPECT_FALSE(say(now, here, 7)) << "a second time";
    EXPECT_FALSE(say(now, fetching, 0)) << "back";
  };
  EXPECT_TRUE(provide(file));
}

TEST_F(sent_files_test, answers_to_an_earlier_file_have_no_effect) {
  const auto file = folder_.write(folder_.path("m"), "weights");
  on_check_ = [&](const check_file& asked) { EXPECT_TRUE(say(asked.number, here, 7)); };
  ASSERT_TRUE(provide(file));
  on_check_ = [&](const check_file& asked) {
    EXPECT_TRUE(say(asked.number - 1, here, ~0ull));
    EXPECT_TRUE(say(asked.number, here, 7));
  };
  ASSERT_TRUE(provide(file));
}

TEST_F(sent_files_test, no_more_is_on_its_way_than_may_be) {
  const std::string content(limits::file_bytes_ahead_max + 5 * limits::blob_part_bytes, 'w');
  const auto file = folder_.write(folder_.path("m"), content);
  std::atomic<std::uint64_t> sent{0};
  std::uint64_t written = 0;
  std::promise<void> is_full;
  on_check_ = [&](const check_file& asked) { EXPECT_TRUE(say(asked.number, fetching, 0)); };
  on_part_ = [&](const file_part& part) {
    EXPECT_EQ(part.offset, sent.load());
    EXPECT_EQ(part.content.size(), limits::blob_part_bytes);
    sent += part.content.size();
    if (sent == limits::file_bytes_ahead_max) is_full.set_value();
  };
  auto done = std::async(std::launch::async, [&] { return provide(file); });
  ASSERT_EQ(is_full.get_future().wait_for(file_patience), std::future_status::ready);
  while (written < content.size() - limits::blob_part_bytes) {
    written += limits::blob_part_bytes;
    EXPECT_LE(sent.load(), written - limits::blob_part_bytes + limits::file_bytes_ahead_max);
    EXPECT_TRUE(say(1, fetching, written));
  }
  EXPECT_TRUE(say(1, here, content.size()));
  EXPECT_TRUE(done.get());
}

TEST_F(sent_files_test, a_stop_ends_the_wait) {
  std::stop_source stop;
  on_check_ = [&](const check_file&) { stop.request_stop(); };
  const auto file = folder_.write(folder_.path("m"), "weights");
  const auto ended = files_.provide(file, in_file_time() + std::chrono::hours{1}, stop.get_token());
  EXPECT_EQ(ended.error().code, error_code::call_cancelled);
}

TEST_F(sent_files_test, the_loss_of_the_node_ends_the_wait_and_all_later_ones) {
  const auto file = folder_.write(folder_.path("m"), "weights");
  on_check_ = [&](const check_file&) { files_.lose({error_code::node_lost, "node w1", "gone", {}}); };
  EXPECT_EQ(provide(file).error().cause, "gone");
  on_check_ = [&](const check_file&) {};
  EXPECT_EQ(provide(file).error().cause, "gone");
}

}  // namespace
}  // namespace troupe::testing
