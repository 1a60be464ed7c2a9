// Goal: a worker reads the file at its path before any other, and one that its agent has fetched as if it were there:
// stamps, by which driver and workers compare files, are the same text. Method: the variable of agents in this process.
#include "program/models/local_file.hpp"

#include <cstdlib>

#include "program/models/file_stamp.hpp"
#include "runtime/agent/fetched_files.hpp"
#include "tests/runtime/agent/file_folder.hpp"

namespace troupe::testing {
namespace {

class local_file_test : public ::testing::Test {
 protected:
  ~local_file_test() override { ::unsetenv(files_variable); }

  void tell(const fetched_files& files) { ::setenv(files_variable, files.text().c_str(), 1); }

  file_folder folder_;
};

TEST_F(local_file_test, is_what_was_fetched_where_the_path_has_nothing) {
  const std::string model = folder_.path("model.pt");
  EXPECT_EQ(local_file(model), model);
  fetched_files files(folder_.cache());
  files.add(model, hash_of("weights"));
  tell(files);
  EXPECT_EQ(local_file(model), folder_.cached("weights").string());
  EXPECT_EQ(local_file("other.pt"), "other.pt");
  folder_.write(model, "own");
  EXPECT_EQ(local_file(model), model);
}

TEST_F(local_file_test, any_other_text_of_the_variable_says_nothing) {
  ::setenv(files_variable, "nonsense", 1);
  EXPECT_EQ(local_file("model.pt"), "model.pt");
}

TEST_F(local_file_test, has_the_stamp_of_the_file_that_it_stands_for) {
  const auto model = folder_.write(folder_.path("model.pt"), "weights");
  const std::string stamp = stamp_by_content(model.path);
  EXPECT_EQ(stamp, model.path + " " + model.hash);
  const auto identity = identity_of(model.path);
  ASSERT_TRUE(identity) << to_string(identity.error());
  EXPECT_EQ(identity->path, model.path);
  EXPECT_EQ(identity->hash, model.hash);
  EXPECT_EQ(identity->size, model.size);

  std::filesystem::remove(model.path);
  EXPECT_EQ(stamp_by_content(model.path), model.path);
  EXPECT_EQ(identity_of(model.path).error().code, error_code::model_unreadable);
  folder_.write(folder_.cached("weights"), "weights");
  fetched_files files(folder_.cache());
  files.add(model.path, model.hash);
  tell(files);
  EXPECT_EQ(stamp_by_content(model.path), stamp);
}

}  // namespace
}  // namespace troupe::testing
