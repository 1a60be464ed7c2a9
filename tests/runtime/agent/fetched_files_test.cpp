// Goal: a worker finds what its agent has fetched, and takes no other text for it. Method: texts there and back, and
// texts that are wrong in one place each; the cache's place from all variables that say it.
#include "runtime/agent/fetched_files.hpp"

#include "messages/limits.hpp"
#include "runtime/agent/file_cache.hpp"
#include "tests/runtime/agent/file_folder.hpp"

namespace troupe::testing {
namespace {

TEST(fetched_files, are_found_by_their_paths_after_the_way_to_a_worker) {
  fetched_files files("/cache;with=signs");
  const std::vector<std::string> paths = {"/model.pt", "model.pt", "a;b=c\n", ""};
  for (const std::string& each : paths) files.add(each, hash_of("content of " + each));
  const auto read = fetched_files::parse(files.text());
  ASSERT_TRUE(read);
  for (const std::string& each : paths)
    EXPECT_EQ(read->find(each), "/cache;with=signs/" + hash_of("content of " + each));
  EXPECT_FALSE(read->find("/other.pt"));
}

TEST(fetched_files, has_the_last_content_of_a_path) {
  fetched_files files("/c");
  files.add("m", hash_of("1"));
  files.add("m", hash_of("2"));
  EXPECT_EQ(files.find("m"), "/c/" + hash_of("2"));
  EXPECT_EQ(files.text(), hash_of("m") + "=" + hash_of("2") + ";/c");
}

TEST(fetched_files, are_no_more_than_a_run_can_have) {
  fetched_files files("/c");
  for (std::size_t i = 0; i < limits::node_files_max + 10; ++i) files.add(std::to_string(i), hash_of("1"));
  EXPECT_FALSE(files.find("9"));
  EXPECT_TRUE(files.find("10"));
  const auto read = fetched_files::parse(files.text());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->find(std::to_string(limits::node_files_max + 9)));
  constexpr std::size_t longest_variable = 128u << 10;  // MAX_ARG_STRLEN of Linux
  EXPECT_LT(files.text().size(), longest_variable);
}

TEST(fetched_files, any_other_text_is_none) {
  const std::string entry = hash_of("m") + "=" + hash_of("1") + ";";
  ASSERT_TRUE(fetched_files::parse(entry + "/c"));
  ASSERT_TRUE(fetched_files::parse("/c"));
  for (const std::string& bad :
       {std::string(), entry, entry + "c", entry.substr(1) + "/c", entry + entry.substr(1) + "/c",
        "G" + entry.substr(1) + "/c", hash_of("m") + ";" + hash_of("1") + ";/c",
        hash_of("m") + "=../" + hash_of("1").substr(3) + ";/c"})
    EXPECT_FALSE(fetched_files::parse(bad)) << bad;
}

TEST(cache_directory, is_where_the_first_variable_says) {
  const std::vector<named_value> none = {{"TROUPE_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ""}};
  auto variables = none;
  EXPECT_EQ(cache_directory(variables), "");
  variables[2].value = "/home/me";
  EXPECT_EQ(cache_directory(variables), "/home/me/.cache/troupe/files");
  variables[1].value = "relative";
  EXPECT_EQ(cache_directory(variables), "/home/me/.cache/troupe/files");
  variables[1].value = "/xdg";
  EXPECT_EQ(cache_directory(variables), "/xdg/troupe/files");
  variables[0].value = "/own";
  EXPECT_EQ(cache_directory(variables), "/own/files");
  variables[0].value = "own";
  EXPECT_EQ(cache_directory(variables), (std::filesystem::current_path() / "own/files").string());
}

}  // namespace
}  // namespace troupe::testing
