// Goal: pages name only files, headings, flags, symbols, tests and error codes that the tree has, in plain words.
// Method: the rules of page_rules.hpp over this tree's pages; then over planted
// pages, in which each rule finds its violation and refuses nothing that is right.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/docs/block_programs.hpp"
#include "tests/docs/page_rules.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(docs, are_found) {
  const auto pages = read_pages(source_dir());
  EXPECT_GT(pages.size(), 20u);
  const auto things = things_of(source_dir());
  EXPECT_TRUE(things.words.contains("fold_ledger"));
  EXPECT_TRUE(things.flags.contains("--micro-batch"));
  EXPECT_TRUE(things.flags.contains("--weights"));
  EXPECT_TRUE(things.error_codes.contains("E0203"));
  EXPECT_TRUE(things.test_names.contains("docs_test"));
}

TEST(docs, name_only_what_the_tree_has) {
  const auto things = things_of(source_dir());
  std::vector<std::string> found;
  for (const page& each : read_pages(source_dir())) {
    for (const std::string& finding : name_findings(source_dir(), each, things)) found.push_back(finding);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(docs, use_plain_words) {
  std::vector<std::string> found;
  for (const page& each : read_pages(source_dir())) {
    for (const std::string& finding : language_findings(each)) found.push_back(finding);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(docs, have_no_block_that_nothing_runs) {
  std::vector<std::string> found;
  for (const page& each : read_pages(source_dir())) {
    for (const std::string& finding : unrun_findings(each)) found.push_back(finding);
  }
  EXPECT_THAT(found, IsEmpty());
}

/// A tree with one page, which names things of this tree. Gone at the end of the test.
class planted_page : public ::testing::Test {
 protected:
  planted_page() : root_(fs::path(::testing::TempDir()) / ("troupe_docs_" + std::to_string(::getpid()))) {
    plant("runtime/edge/edge.hpp", "struct edge { int has_credit(); };  // gone_name\n");
    plant("runtime/config/option_table.cpp", "option o{\"micro_batch\"};\n");
    plant("cli/plan.cpp", "app.add_option(\"--weights\");\n");
    plant("include/troupe/error_code.hpp", "enum { truncated = 203, };\n");
    plant("tests/runtime/edge/edge_test.cpp", "\n");
    plant("docs/other.md", "# Other page\n\n## Two words, here\n");
  }
  ~planted_page() override { fs::remove_all(root_); }

  void plant(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  std::vector<std::string> findings_of(const std::string& line) {
    plant("docs/a.md", "# A\n" + line + "\n");
    return name_findings(root_, read_page(root_, "docs/a.md"), things_of(root_));
  }

  fs::path root_;
};

TEST_F(planted_page, right_names_are_taken) {
  for (const char* line :
       {"`runtime/edge/edge.hpp`, `runtime/{edge,config}/`, `edge.hpp`, `runtime/edge/<name>/x.hpp`",
        "`edge::has_credit()`", "`edge_test`", "`--micro-batch 64`, --weights, `cmake --install x`", "E0203",
        "[o](other.md#two-words-here)", "[a](#a), [w](https://example.org/none)",
        "`a/b`, `DIR/result.json`, `mnist:DIR`", "| --- |", "a -- b", "`a gone\nspan`, not_a_name, `edge`"}) {
    EXPECT_THAT(findings_of(line), IsEmpty()) << line;
  }
}

TEST_F(planted_page, each_wrong_name_is_found) {
  EXPECT_THAT(findings_of("`runtime/edge/none.hpp`"), ElementsAre("docs/a.md:2: no file runtime/edge/none.hpp"));
  EXPECT_THAT(findings_of("`runtime/{edge,none}`"), ElementsAre("docs/a.md:2: no file runtime/none"));
  EXPECT_THAT(findings_of("`npy:runtime/none.npy,runtime/edge,x=1`"),
              ElementsAre("docs/a.md:2: no file runtime/none.npy"));
  EXPECT_THAT(findings_of("`none.hpp`"), ElementsAre("docs/a.md:2: no file none.hpp"));
  EXPECT_THAT(findings_of("`none()`, `edge.none(1)`"),
              ElementsAre("docs/a.md:2: no name none", "docs/a.md:2: no name none"));
  EXPECT_THAT(findings_of("`edge::none()`"), ElementsAre("docs/a.md:2: no name edge::none"));
  EXPECT_THAT(findings_of("`edge::micro_batch`"), ElementsAre("docs/a.md:2: no name edge::micro_batch"));
  EXPECT_THAT(findings_of("`edge\nof gone_name`"), ElementsAre("docs/a.md:3: no name gone_name"));
  EXPECT_THAT(findings_of("`gone_name`"), ElementsAre("docs/a.md:2: no name gone_name"));
  EXPECT_THAT(findings_of("`none_test`"), ElementsAre("docs/a.md:2: no test none_test"));
  EXPECT_THAT(findings_of("write --none"), ElementsAre("docs/a.md:2: no flag --none"));
  EXPECT_THAT(findings_of("```\ntroupe eval --none\n```"), ElementsAre("docs/a.md:3: no flag --none"));
  EXPECT_THAT(findings_of("E0204"), ElementsAre("docs/a.md:2: no error code E0204"));
  EXPECT_THAT(findings_of("[o](none.md)"), ElementsAre("docs/a.md:2: no file docs/none.md"));
  EXPECT_THAT(findings_of("[o](other.md#none)"), ElementsAre("docs/a.md:2: no heading other.md#none"));
}

TEST_F(planted_page, definitions_belong_to_the_next_program) {
  const std::string in_main = "<!-- compile: in main -->\n```cpp\n#include <b>\nuse(x);\n```\n";
  plant("docs/a.md", "```cpp\n#include <a>\nint x = 1;\n```\ntext\n" + in_main +
                         "```cpp\nint main() {\n  f();\n}\n```\n" +
                         "<!-- not run: needs two hosts -->\n```cpp\nint y;\n```\n```cpp\nint z;\n```\n" +
                         "<!-- file: own.cpp -->\n```cpp\nint main() {}\n```\n");
  const page read = read_page(root_, "docs/a.md");
  const auto programs = programs_of(read);
  ASSERT_EQ(programs.size(), 4U);
  EXPECT_EQ(programs[0].name, "docs_a_md_1");
  EXPECT_EQ(programs[0].includes, "#include <a>\n#include <b>\n");
  EXPECT_THAT(programs[0].body, HasSubstr("int x = 1;"));
  EXPECT_THAT(programs[0].body, HasSubstr("use(x);\nreturn 0;\n}"));
  EXPECT_EQ(programs[1].main, "int main()");
  EXPECT_THAT(programs[1].body, HasSubstr("  f();\nreturn 0; }"));
  EXPECT_EQ(programs[2].main + programs[3].main, "");
  EXPECT_THAT(unrun_findings(read), ElementsAre(HasSubstr("docs/a.md:20: no block runs it")));
}

TEST_F(planted_page, control_characters_are_found) {
  plant("docs/a.md", "From \x01 on.\n```\n\x02\n```\n\ttabs too\n");
  EXPECT_THAT(language_findings(read_page(root_, "docs/a.md")),
              ElementsAre("docs/a.md:1: a control character", "docs/a.md:3: a control character",
                          "docs/a.md:5: a control character"));
}

TEST_F(planted_page, words_without_a_subject_are_found) {
  plant("docs/a.md", "Part of its work.\nWhoever knows\nwhat\nis left, and the end of it.\n```\nnobody\n```\n");
  EXPECT_THAT(language_findings(read_page(root_, "docs/a.md")),
              ElementsAre("docs/a.md:2: \"whoever\"", "docs/a.md:4: \"of it\""));
}

}  // namespace
}  // namespace troupe::testing
