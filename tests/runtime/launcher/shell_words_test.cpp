// Goal: what a shell makes of a quoted text is that text; programs are found as execvp finds them.
// Method: a real /bin/sh; directories made for the test.
#include "runtime/launcher/shell_words.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

std::string output_of_shell(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 256> bytes{};
  for (std::size_t got = 0; (got = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    text.append(bytes.data(), got);
  ::pclose(pipe);
  return text;
}

TEST(quote_for_shell, a_shell_reads_the_text_back) {
  for (const std::string text : {"", "plain", "with blanks  in it", "it's", "'", "''", "a\\b", "$HOME `id` $(id) !x",
                                 "line\nline", "\"", "*?[", "-n", "ümlaut"}) {
    EXPECT_EQ(output_of_shell("printf '[%s]' " + quote_for_shell(text)), "[" + text + "]") << text;
  }
}

TEST(split_at_blanks, gives_the_words) {
  using words = std::vector<std::string>;
  EXPECT_EQ(split_at_blanks(""), words{});
  EXPECT_EQ(split_at_blanks(" \t "), words{});
  EXPECT_EQ(split_at_blanks("ssh"), words{"ssh"});
  EXPECT_EQ(split_at_blanks("  kubectl exec\t-i 'x y' "), (words{"kubectl", "exec", "-i", "'x", "y'"}));
}

TEST(find_program, looks_where_execvp_does) {
  const scratch_directory place;
  const fs::path one = place.path() / "one";
  const fs::path two = place.path() / "two";
  for (const fs::path& each : {one, two}) fs::create_directory(each);
  std::ofstream(one / "tool") << "not executable";
  std::ofstream(two / "tool") << "executable";
  fs::permissions(two / "tool", fs::perms::owner_all);
  fs::create_directory(one / "folder");
  const std::string path = one.string() + ":" + two.string();
  EXPECT_EQ(find_program("tool", path), (two / "tool").string());
  EXPECT_EQ(find_program("folder", path), std::nullopt);
  EXPECT_EQ(find_program("absent", path), std::nullopt);
  EXPECT_EQ(find_program("", path), std::nullopt);
  EXPECT_EQ(find_program("./any", path), "./any");
}

TEST(own_directory, has_this_program) {
  EXPECT_TRUE(fs::exists(fs::path(own_directory()) / "launcher_test"));
  EXPECT_TRUE(fs::equivalent(working_directory(), "."));
}

}  // namespace
}  // namespace troupe::testing
