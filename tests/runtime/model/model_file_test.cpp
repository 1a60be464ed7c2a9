// Goal: every kind of wrong model file has an error of its own that names the file and says what it is. Method: a table
// of files made in a scratch directory, partly from the real models, each compared with code and words.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/archive/archive_file.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::string read_all(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void expect_error(const std::filesystem::path& file, error_code code, const std::string& words) {
  const auto outcome = load_model(file);
  ASSERT_FALSE(outcome) << file;
  const std::string text = to_string(outcome.error());
  EXPECT_EQ(code_name(outcome.error().code), code_name(code)) << text;
  EXPECT_THAT(text, HasSubstr(words));
  EXPECT_THAT(text, HasSubstr(file.filename().string()));
  EXPECT_FALSE(outcome.error().fix.empty()) << text;
}

struct wrong_content {
  std::string name;
  std::string content;
  error_code code;
  std::string words;
};

const std::string legacy_pickle("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);

std::string legacy_tar() {
  std::string bytes(1024, '\0');
  bytes.replace(0, 8, "storages");
  bytes.replace(257, 5, "ustar");
  return bytes;
}

/// A zip file with one stored entry of no content.
std::string zip_of(const std::string& name) {
  const auto length = static_cast<char>(name.size());
  std::string local("PK\3\4", 4);
  local += std::string(22, '\0') + length + std::string(3, '\0') + name;
  std::string directory("PK\1\2", 4);
  directory += std::string(24, '\0') + length + std::string(17, '\0') + name;
  std::string end("PK\5\6", 4);
  end += std::string("\0\0\0\0\1\0\1\0", 8) + static_cast<char>(directory.size()) + std::string(3, '\0') +
         static_cast<char>(local.size()) + std::string(5, '\0');
  return local + directory + end;
}

std::vector<wrong_content> wrong_contents() {
  const std::string whole = read_all(lenet_file());
  const std::size_t end = whole.rfind("PK\5\6");
  std::string moved_directory = whole;
  moved_directory.replace(end + 16, 4, "\xf0\xff\xff\x7f");
  std::string moved_directory64 = whole;
  moved_directory64.replace(end + 16, 4, "\xff\xff\xff\xff");
  if (const std::size_t record = whole.rfind("PK\6\6"); record != std::string::npos) {
    moved_directory64.replace(record + 48, 8, std::string(8, '\x7f'));
  }
  std::string huge_directory = whole;
  huge_directory.replace(end + 12, 4, "\xfe\xff\xff\xff");
  std::string zeroed = whole;
  zeroed.replace(whole.size() / 2, std::string::npos, std::string(whole.size() - whole.size() / 2, '\0'));
  std::string broken_entry = whole;
  broken_entry.replace(whole.find("PK\1\2") + 46, 4, "\xff\xff\xff\xff");
  broken_entry.replace(whole.find("PK\1\2"), 4, "PKxx");
  std::string broken_pickle = whole;
  broken_pickle.replace(whole.find("\x80\x02"
                                   "c__torch__"),
                        2, "\xff\xff");
  const auto truncated = error_code::model_truncated;
  const auto foreign = error_code::model_not_torchscript;
  return {
      {"empty.pt", "", truncated, "truncated: it is empty"},
      {"half.pt", whole.substr(0, whole.size() / 2), truncated, "truncated"},
      {"last_byte.pt", whole.substr(0, whole.size() - 1), truncated, "truncated"},
      {"four_bytes.pt", whole.substr(0, 4), truncated, "truncated"},
      {"no_middle.pt", whole.substr(0, 1000) + whole.substr(end), truncated, "truncated"},
      {"moved_directory.pt", moved_directory, truncated, "beyond the end of the file"},
      {"moved_directory64.pt", moved_directory64, truncated, "beyond the end of the file"},
      {"huge_directory.pt", huge_directory, truncated, "beyond the end of the file"},
      {"zeroed.pt", zeroed, truncated, "truncated"},
      {"broken_entry.pt", broken_entry, error_code::model_unreadable, "damaged"},
      {"broken_pickle.pt", broken_pickle, error_code::model_damaged, "does not have its checksum"},
      {"pointer.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n",
       error_code::model_lfs_pointer, "git-lfs pointer"},
      {"legacy.pt", legacy_pickle, error_code::model_legacy_pickle, "legacy pickle (pre-zip)"},
      {"legacy_tar.pt", legacy_tar(), error_code::model_legacy_pickle, "legacy pickle (pre-zip)"},
      {"saved_object.pt", zip_of("m/data.pkl"), error_code::model_state_dict, "state dict"},
      {"package.pt2", zip_of("m/archive_format"), foreign, "torch.export.save failed"},
      {"letter.docx", zip_of("word/document.xml"), foreign, "without data.pkl and code/"},
      {"weights.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"a\":{}}", 16), foreign, "safetensors"},
      {"page.html", "<!DOCTYPE html><html>404</html>", foreign, "HTML"},
      {"notes.txt", "hello", foreign, "the file is no model"},
      {"data.gz", "\x1f\x8b\x08", foreign, "gzip"},
      {"only_outline.pt", zip_of("m/constants.pkl"), error_code::model_unreadable, "lacks the entry data.pkl"},
  };
}

TEST(model_file, wrong_contents_are_told_apart) {
  const scratch_dir dir;
  for (const wrong_content& wrong : wrong_contents()) {
    SCOPED_TRACE(wrong.name);
    expect_error(dir.write(wrong.name, wrong.content), wrong.code, wrong.words);
  }
}

TEST(model_file, wrong_paths_are_told_apart) {
  const scratch_dir dir;
  expect_error(dir.path() / "absent.pt", error_code::model_missing, "does not exist");
  expect_error(dir.write("file", "x") / "below_a_file.pt", error_code::model_missing, "does not exist");
  expect_error(dir.path(), error_code::model_is_directory, "is a directory");
  std::filesystem::create_symlink("loop.pt", dir.path() / "loop.pt");
  expect_error(dir.path() / "loop.pt", error_code::model_unreadable, "cannot be read");
  expect_error("/dev/null", error_code::model_unreadable, "no regular file");
}

TEST(model_file, state_dicts_are_named) {
  for (const char* name : {"resnet20_dict.pt", "resnet20_ordered.pt"}) {
    expect_error(data_dir() / "cifar10" / name, error_code::model_state_dict, "is a state dict");
  }
}

TEST(model_file, every_prefix_of_a_model_is_an_error) {
  const scratch_dir dir;
  const std::string whole = read_all(lenet_file());
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 997) {
    const auto outcome = open_archive(dir.write("prefix.pt", whole.substr(0, bytes)));
    ASSERT_FALSE(outcome) << bytes;
    ASSERT_TRUE(bytes < 4 || outcome.error().code == error_code::model_truncated) << to_string(outcome.error());
  }
}

}  // namespace
}  // namespace troupe::testing
