#include "runtime/architecture/model_folder.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class model_folders : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "troupe_folder_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  void TearDown() override { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  /// modules.json with these classes behind the model, each at its path.
  void write_modules(const std::string& more) const {
    write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"})" + more + "]");
  }
  [[nodiscard]] std::string said() const {
    const auto found = folder().embedding();
    if (!found) return to_string(found.error());
    if (!*found) return "none";
    return std::string((*found)->from_first_token ? "first" : "mean") + ((*found)->is_normalized ? ", normalized" : "");
  }
  [[nodiscard]] model_folder folder() const { return {path_, as_named_}; }

  fs::path path_;
  file_locator as_named_ = [](const fs::path& path) { return path; };
};

constexpr auto pooling = R"(, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
constexpr auto normalize = R"(, {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";

TEST_F(model_folders, say_how_a_sentence_is_embedded) {
  EXPECT_EQ(said(), "none");
  write("1_Pooling/config.json", R"({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": true})");
  write_modules(pooling);
  EXPECT_EQ(said(), "mean");
  write_modules(std::string(pooling) + normalize);
  EXPECT_EQ(said(), "mean, normalized");
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(said(), "first, normalized");
  write_modules("");
  EXPECT_EQ(said(), "none");
}

TEST_F(model_folders, refuse_what_they_cannot_do) {
  write_modules(pooling);
  EXPECT_THAT(said(), AllOf(HasSubstr("E0201"), HasSubstr("1_Pooling/config.json")));
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  EXPECT_THAT(said(), AllOf(HasSubstr("E0219"), HasSubstr("pooling_mode_max_tokens is not built in")));
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
  EXPECT_THAT(said(), HasSubstr("E0219"));
  write("1_Pooling/config.json", R"({"pooling_mode_mean_tokens": 1})");
  EXPECT_THAT(said(), AllOf(HasSubstr("E0210"), HasSubstr("is neither true nor false")));
  write_modules(R"(, {"path": "../elsewhere", "type": "sentence_transformers.models.Pooling"})");
  EXPECT_THAT(said(), AllOf(HasSubstr("E0219"), HasSubstr("../elsewhere")));
  write_modules(R"(, {"path": "1_Dense", "type": "sentence_transformers.models.Dense"})");
  EXPECT_THAT(said(), AllOf(HasSubstr("E0219"), HasSubstr("the module Dense")));
  write_modules(normalize);
  EXPECT_THAT(said(), HasSubstr("E0219"));
  write("modules.json", "{");
  EXPECT_THAT(said(), AllOf(HasSubstr("E0210"), HasSubstr("modules.json")));
}

TEST_F(model_folders, are_known_by_their_configuration) {
  EXPECT_FALSE(folder().is_model());
  EXPECT_THAT(to_string(folder().config().error()), AllOf(HasSubstr("E0201"), HasSubstr("--arch")));
  write("config.json", R"({"architectures": ["BertModel"]})");
  EXPECT_TRUE(folder().is_model());
  EXPECT_THAT(folder().files(), ElementsAre(path_ / "config.json"));
  write("config.json", std::string(2 << 20, ' '));
  EXPECT_THAT(to_string(folder().config().error()), HasSubstr("E0214"));
}

}  // namespace
}  // namespace troupe::testing
