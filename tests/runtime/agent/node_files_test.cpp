// Goal: workers read the driver's file, or none: the file at the path or in the cache is used if its content is the
// right one, else it is fetched, or the node and the file are named. Method: orders of a driver against a folder of the
// test; content is compared byte by byte with what was sent.
#include "runtime/agent/node_files.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "messages/limits.hpp"
#include "tests/runtime/agent/file_folder.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat found {};
  EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777u;
}

class node_files_test : public ::testing::Test {
 protected:
  [[nodiscard]] node_files new_node(const std::string& cache) {
    return node_files({.node = "w1",
                       .cache = cache,
                       .answer = [this](const file_answer& said) { answers_.push_back(said); },
                       .is_ending = [this] { return is_ending_; }});
  }
  [[nodiscard]] file_state state() const {
    return answers_.empty() ? file_state::looking : static_cast<file_state>(answers_.back().state);
  }
  /// As the driver does, in parts of so many bytes.
  expected<void> send(node_files& to, std::uint64_t number, const std::string& content, std::size_t part_bytes) {
    for (std::size_t at = 0; at < content.size(); at += part_bytes) {
      auto added = to.add({number, at, bytes_of(content.substr(at, part_bytes))});
      if (!added) return added;
      EXPECT_EQ(answers_.back().bytes, std::min(at + part_bytes, content.size()));
    }
    return {};
  }

  file_folder folder_;
  node_files files_ = new_node(folder_.cache());
  std::vector<file_answer> answers_;
  bool is_ending_ = false;
};

TEST_F(node_files_test, the_same_file_at_its_path_is_used) {
  const auto wanted = folder_.write(folder_.path("model.pt"), "weights");
  ASSERT_TRUE(files_.check({1, wanted}));
  EXPECT_EQ(state(), file_state::here);
  EXPECT_EQ(answers_.back().number, 1u);
  EXPECT_TRUE(files_.fetched().empty());
  EXPECT_EQ(folder_.cache_names(), 0u);
}

TEST_F(node_files_test, another_file_at_the_path_names_node_and_file) {
  auto wanted = folder_.write(folder_.path("model.pt"), "weights");
  for (const std::string other : {"Weights", "weights ", ""}) {
    folder_.write(wanted.path, other);
    node_files files = new_node(folder_.cache());
    const auto refused = files.check({1, wanted});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::worker_mismatch);
    EXPECT_EQ(refused.error().where, "node w1, " + wanted.path);
    EXPECT_THAT(refused.error().cause, HasSubstr("another file"));
    EXPECT_FALSE(refused.error().fix.empty());
  }
  EXPECT_TRUE(answers_.empty());
}

TEST_F(node_files_test, what_is_no_file_is_another_one) {
  auto wanted = folder_.write(folder_.path("model.pt"), "weights");
  std::filesystem::remove(wanted.path);
  ASSERT_EQ(::mkfifo(wanted.path.c_str(), 0600), 0);
  EXPECT_EQ(files_.check({1, wanted}).error().code, error_code::worker_mismatch);
}

TEST_F(node_files_test, a_change_of_a_file_that_is_known_is_seen) {
  const auto wanted = folder_.write(folder_.path("model.pt"), "weights");
  ASSERT_TRUE(files_.check({1, wanted}));
  ASSERT_TRUE(files_.check({2, wanted}));
  folder_.write(wanted.path + ".new", "weightS");
  std::filesystem::rename(wanted.path + ".new", wanted.path);
  EXPECT_EQ(files_.check({3, wanted}).error().code, error_code::worker_mismatch);
}

TEST_F(node_files_test, a_file_that_is_not_there_comes_into_the_cache) {
  const std::string content(300'000, 'w');
  const file_identity wanted{folder_.path("far/model.pt"), hash_of(content), content.size()};
  ASSERT_TRUE(files_.check({1, wanted}));
  ASSERT_EQ(state(), file_state::fetching);
  EXPECT_FALSE(std::filesystem::exists(folder_.cached(content)));
  ASSERT_TRUE(send(files_, 1, content, 70'001));
  EXPECT_EQ(state(), file_state::here);
  EXPECT_EQ(content_of(folder_.cached(content)), content);
  EXPECT_EQ(files_.fetched().find(wanted.path), folder_.cached(content).string());
  EXPECT_EQ(mode_of(folder_.cached(content)), 0600u);
  EXPECT_EQ(mode_of(folder_.cache()), 0700u);
  EXPECT_EQ(mode_of(folder_.path("cache")), 0700u);
  EXPECT_EQ(folder_.cache_names(), 1u);
  EXPECT_FALSE(std::filesystem::exists(wanted.path)) << "the path itself is the user's";
}

TEST_F(node_files_test, an_empty_file_needs_no_part) {
  ASSERT_TRUE(files_.check({1, {folder_.path("empty"), hash_of(""), 0}}));
  EXPECT_EQ(state(), file_state::here);
  EXPECT_TRUE(std::filesystem::exists(folder_.cached("")));
}

TEST_F(node_files_test, the_cache_serves_later_launches) {
  folder_.write(folder_.cached("weights"), "weights");
  const file_identity wanted{folder_.path("model.pt"), hash_of("weights"), 7};
  ASSERT_TRUE(files_.check({1, wanted}));
  EXPECT_EQ(state(), file_state::here);
  EXPECT_EQ(files_.fetched().find(wanted.path), folder_.cached("weights").string());
}

TEST_F(node_files_test, a_damaged_file_of_the_cache_is_fetched_again) {
  const file_identity wanted{folder_.path("model.pt"), hash_of("weights"), 7};
  for (const std::string damaged : {"weightS", "weight", ""}) {
    folder_.write(folder_.cached("weights"), damaged);
    node_files files = new_node(folder_.cache());
    ASSERT_TRUE(files.check({1, wanted}));
    ASSERT_EQ(state(), file_state::fetching);
    EXPECT_EQ(folder_.cache_names(), 0u);
    ASSERT_TRUE(send(files, 1, "weights", 100));
    EXPECT_EQ(content_of(folder_.cached("weights")), "weights");
  }
}

TEST_F(node_files_test, a_link_in_the_cache_is_no_file_of_it) {
  const auto elsewhere = folder_.write(folder_.path("elsewhere"), "weights");
  std::filesystem::create_directories(folder_.cache());
  std::filesystem::create_symlink(elsewhere.path, folder_.cached("weights"));
  ASSERT_TRUE(files_.check({1, {folder_.path("model.pt"), hash_of("weights"), 7}}));
  EXPECT_EQ(state(), file_state::fetching);
  EXPECT_EQ(folder_.cache_names(), 0u);
  EXPECT_EQ(content_of(elsewhere.path), "weights");
}

TEST_F(node_files_test, a_cache_of_all_users_becomes_the_users_alone) {
  std::filesystem::create_directories(folder_.cache());
  ASSERT_EQ(::chmod(folder_.cache().c_str(), 0777), 0);
  ASSERT_TRUE(files_.check({1, {folder_.path("model.pt"), hash_of("weights"), 7}}));
  EXPECT_EQ(mode_of(folder_.cache()), 0700u);
}

TEST_F(node_files_test, content_that_was_not_announced_is_refused_and_nothing_is_left) {
  const file_identity wanted{folder_.path("model.pt"), hash_of("weights"), 7};
  ASSERT_TRUE(files_.check({1, wanted}));
  const auto refused = send(files_, 1, "weightS", 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::worker_mismatch);
  EXPECT_EQ(refused.error().where, "node w1, " + wanted.path);
  EXPECT_EQ(folder_.cache_names(), 0u);
  EXPECT_TRUE(files_.fetched().empty());
}

TEST_F(node_files_test, the_next_file_ends_one_that_was_given_up) {
  ASSERT_TRUE(files_.check({1, {folder_.path("one.pt"), hash_of("weights"), 7}}));
  ASSERT_TRUE(files_.add({1, 0, bytes_of("wei")}));
  ASSERT_TRUE(files_.check({2, {folder_.path("two.pt"), hash_of("other"), 5}}));
  ASSERT_TRUE(send(files_, 2, "other", 5));
  EXPECT_EQ(content_of(folder_.cached("other")), "other");
  EXPECT_EQ(folder_.cache_names(), 1u);
}

TEST_F(node_files_test, where_no_cache_can_be_is_an_error_with_node_and_file) {
  const file_identity wanted{folder_.path("model.pt"), hash_of("weights"), 7};
  folder_.write(folder_.path("no_directory"), "");
  for (const std::string& cache :
       {std::string(), folder_.path("no_directory/files"), std::string("/proc/none/files")}) {
    node_files files = new_node(cache);
    const auto refused = files.check({1, wanted});
    ASSERT_FALSE(refused) << cache;
    EXPECT_EQ(refused.error().code, error_code::output_unwritable) << cache;
    EXPECT_EQ(refused.error().where, "node w1, " + wanted.path);
    EXPECT_THAT(refused.error().fix, HasSubstr("TROUPE_CACHE_DIR"));
  }
}

TEST_F(node_files_test, a_large_file_is_reported_on_while_it_is_read_and_an_end_ends_it) {
  const std::string content(2 * limits::file_report_bytes + 1, 'w');
  const auto wanted = folder_.write(folder_.path("model.pt"), content);
  ASSERT_TRUE(files_.check({1, wanted}));
  ASSERT_EQ(answers_.size(), 3u);
  EXPECT_EQ(answers_[0].state, static_cast<std::uint32_t>(file_state::looking));
  EXPECT_LT(answers_[0].bytes, answers_[1].bytes);
  EXPECT_EQ(state(), file_state::here);
  is_ending_ = true;
  node_files another = new_node(folder_.cache());
  EXPECT_EQ(another.check({1, wanted}).error().code, error_code::interrupted);
}

// --- what no driver says ---------------------------------------------------------------------------------------------

TEST_F(node_files_test, orders_that_no_driver_gives_are_refused) {
  const std::string hash = hash_of("weights");
  const std::string path = folder_.path("model.pt");
  struct bad_order {
    check_file asked;
    error_code code = error_code::wire_malformed;
  };
  for (const bad_order& bad :
       {bad_order{{0, {path, hash, 7}}}, bad_order{{2, {path, hash, 7}}}, bad_order{{~0ull, {path, hash, 7}}},
        bad_order{{1, {"", hash, 7}}}, bad_order{{1, {std::string("a\0b", 3), hash, 7}}}, bad_order{{1, {path, "", 7}}},
        bad_order{{1, {path, "../" + hash.substr(3), 7}}}, bad_order{{1, {path, hash + "0", 7}}},
        bad_order{{1, {path, "G" + hash.substr(1), 7}}},
        bad_order{{1, {path, hash, limits::node_file_bytes_max + 1}}, error_code::wire_too_large},
        bad_order{{1, {path, hash, ~0ull}}, error_code::wire_too_large}}) {
    node_files files = new_node(folder_.cache());
    const auto refused = files.check(bad.asked);
    ASSERT_FALSE(refused) << bad.asked.number << " " << bad.asked.file.path << " " << bad.asked.file.hash;
    EXPECT_EQ(refused.error().code, bad.code);
  }
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(folder_.cache_names(), 0u);
}

TEST_F(node_files_test, parts_that_do_not_follow_each_other_are_refused) {
  const std::string large(limits::blob_part_bytes + 1, 'w');
  struct bad_part {
    file_part part;
    error_code code = error_code::wire_malformed;
  };
  for (const bad_part& bad :
       {bad_part{{0, 3, bytes_of("g")}}, bad_part{{2, 3, bytes_of("g")}}, bad_part{{1, 0, bytes_of("g")}},
        bad_part{{1, 4, bytes_of("g")}}, bad_part{{1, ~0ull, bytes_of("g")}}, bad_part{{1, 3, {}}},
        bad_part{{1, large.size() + 7, {}}}, bad_part{{1, 3, bytes_of(large + "weights")}},
        bad_part{{1, 3, bytes_of(large)}, error_code::wire_too_large}}) {
    node_files files = new_node(folder_.cache());
    ASSERT_TRUE(files.check({1, {folder_.path("model.pt"), hash_of("x"), large.size() + 7}}));
    ASSERT_TRUE(files.add({1, 0, bytes_of("wei")}));
    const auto refused = files.add(bad.part);
    ASSERT_FALSE(refused) << bad.part.number << " " << bad.part.offset << " " << bad.part.content.size();
    EXPECT_EQ(refused.error().code, bad.code);
  }
  EXPECT_EQ(folder_.cache_names(), 0u);
}

TEST_F(node_files_test, a_part_without_a_file_is_refused) {
  EXPECT_EQ(files_.add({0, 0, bytes_of("w")}).error().code, error_code::wire_malformed);
  ASSERT_TRUE(files_.check({1, folder_.write(folder_.path("model.pt"), "weights")}));
  EXPECT_EQ(files_.add({1, 0, bytes_of("w")}).error().code, error_code::wire_malformed) << "it is here";
  ASSERT_TRUE(files_.check({2, {folder_.path("far.pt"), hash_of("w"), 1}}));
  ASSERT_TRUE(send(files_, 2, "w", 1));
  EXPECT_EQ(files_.add({2, 1, bytes_of("w")}).error().code, error_code::wire_malformed) << "it has ended";
}

}  // namespace
}  // namespace troupe::testing
