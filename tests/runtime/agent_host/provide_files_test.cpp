// Goal: before workers start, every node has the driver's files, of the same bytes, or the run ends with what keeps one
// node from having them. Method: agents on threads with working directories of their own, so that one relative path is
// a file of the driver and of each node.
#include "runtime/agent_host/provide_files.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/agent_host/file_node.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// Longer than what may be on its way; its period is none of parts.
std::string large_content() {
  std::string period(10'007, ' ');
  std::uint32_t state = 1;
  for (char& each : period) each = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24u);
  std::string content;
  while (content.size() < limits::file_bytes_ahead_max + 3 * limits::blob_part_bytes) content += period;
  return content;
}

class provide_files_test : public ::testing::Test {
 protected:
  provide_files_test() { std::filesystem::current_path(driver_.root); }
  ~provide_files_test() override { std::filesystem::current_path(before_); }

  /// Of the driver.
  [[nodiscard]] file_identity write(const std::string& name, const std::string& content) const {
    auto made = driver_.write(driver_.path(name), content);
    made.path = name;
    return made;
  }
  [[nodiscard]] expected<void> provide(const std::vector<file_identity>& files) const {
    return provide_files({w1_.mirror(), w2_.mirror()}, files, in_file_time());
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  file_folder driver_;
  file_node w1_{"w1"};
  file_node w2_{"w2"};
};

TEST_F(provide_files_test, a_file_that_all_have_is_not_sent) {
  const auto model = write("model.pt", "weights");
  for (const file_node* each : {&w1_, &w2_}) each->folder.write(each->files() / "model.pt", "weights");
  const auto done = provide({model});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(w1_.folder.cache_names() + w2_.folder.cache_names(), 0u);
}

TEST_F(provide_files_test, each_node_gets_what_it_has_not) {
  const std::string large = large_content();
  const std::vector<file_identity> models = {write("large.pt", large), write("small.pt", "s"), write("empty.pt", "")};
  w1_.folder.write(w1_.files() / "small.pt", "s");
  w2_.folder.write(w2_.folder.cached("s"), "S");  // damaged
  for (int run = 0; run < 2; ++run) {
    const auto done = provide(models);
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(w1_.folder.cache_names(), 2u);
    EXPECT_EQ(w2_.folder.cache_names(), 3u);
    for (const file_node* each : {&w1_, &w2_}) EXPECT_TRUE(content_of(each->folder.cached(large)) == large);
    EXPECT_EQ(content_of(w2_.folder.cached("s")), "s");
  }
}

TEST_F(provide_files_test, another_file_of_a_node_is_named_with_the_node) {
  const auto model = write("model.pt", "weights");
  w2_.folder.write(w2_.files() / "model.pt", "weightS");
  const auto refused = provide({model});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::worker_mismatch);
  EXPECT_EQ(refused.error().where, "node w2, model.pt");
  EXPECT_FALSE(w1_.node().loss());
}

TEST_F(provide_files_test, a_node_without_a_place_for_it_is_named_with_the_file) {
  const auto model = write("model.pt", "weights");
  w2_.folder.write(w2_.folder.path("cache"), "no directory");
  const auto refused = provide({model});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::output_unwritable);
  EXPECT_EQ(refused.error().where, "node w2, model.pt");
}

TEST_F(provide_files_test, a_file_that_changes_meanwhile_is_no_file_of_the_run) {
  for (const std::string& now : {std::string("weightS"), std::string("wei")}) {
    const auto model = write("model.pt", "weights");
    static_cast<void>(write("model.pt", now));
    const auto refused = w1_.node().provide(model, in_file_time(), {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::worker_mismatch);
    EXPECT_THAT(refused.error().where, HasSubstr("model.pt"));
    EXPECT_EQ(w1_.folder.cache_names(), 0u);
    if (w1_.node().loss()) break;  // its agent has said so
  }
}

TEST_F(provide_files_test, a_file_that_the_driver_cannot_read_is_named) {
  file_identity model = write("model.pt", "weights");
  std::filesystem::remove(driver_.path("model.pt"));
  const auto refused = provide({model});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_unreadable);
  EXPECT_EQ(refused.error().where, "model.pt");
}

TEST_F(provide_files_test, a_lost_node_ends_it) {
  const auto model = write("model.pt", "weights");
  w2_.node().lose({error_code::peer_lost, {}, "its link broke", {}});
  const auto refused = provide({model});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::node_lost);
  EXPECT_EQ(refused.error().where, "node w2");
}

TEST_F(provide_files_test, the_first_error_ends_the_wait_for_the_others) {
  const linked_node silent("w3");  // its agent says nothing
  silent.node->set_up({});
  const auto model = write("model.pt", "weights");
  w2_.folder.write(w2_.files() / "model.pt", "weightS");
  const auto refused = provide_files({silent.node, w2_.mirror()}, {model}, in_file_time() + std::chrono::hours{1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "node w2, model.pt");
}

TEST_F(provide_files_test, a_node_that_says_nothing_is_named_at_the_deadline) {
  const linked_node silent("w3");
  silent.node->set_up({});
  const auto late = provide_files({silent.node}, {write("model.pt", "weights")}, std::chrono::steady_clock::now());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::node_lost);
  EXPECT_EQ(late.error().where, "node w3, model.pt");
}

TEST_F(provide_files_test, more_files_than_a_run_can_have_are_refused) {
  const std::vector<file_identity> many(limits::node_files_max + 1, write("model.pt", "weights"));
  EXPECT_EQ(provide(many).error().code, error_code::wire_too_large);
}

}  // namespace
}  // namespace troupe::testing
