// Goal: the dependency rule, the rule of no circles, the rule of comments and the cheap rules of style hold in this
// tree, and the checkers find planted violations.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/paths.hpp"
#include "tests/tree/source_tree.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A tree of planted files, gone at the end of the test.
class planted_tree : public ::testing::Test {
 protected:
  planted_tree() : root_(fs::path(::testing::TempDir()) / ("troupe_tree_" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~planted_tree() override { fs::remove_all(root_); }

  void plant(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST(source_tree, is_found) {
  const auto files = source_files(source_dir());
  EXPECT_GT(files.size(), 40u);
  EXPECT_THAT(files, ::testing::Contains(fs::path("include/troupe/ids.hpp")));
  EXPECT_THAT(files, ::testing::Contains(fs::path("tests/tree/tree_test.cpp")));
}

TEST(source_tree, dependencies_point_one_way) {
  EXPECT_THAT(dependency_findings(source_dir()), IsEmpty());
}

TEST(source_tree, the_public_interface_has_at_most_32_headers) {
  std::size_t headers = 0;
  for (const fs::path& file : source_files(source_dir())) headers += file.parent_path().filename() == "troupe" ? 1 : 0;
  EXPECT_GT(headers, 10u);
  EXPECT_LE(headers, 32u);
}

TEST(source_tree, folders_form_no_circle) {
  EXPECT_THAT(circle_findings(source_dir()), IsEmpty());
}

TEST(source_tree, style) {
  EXPECT_THAT(style_findings(source_dir()), IsEmpty());
}

TEST(source_tree, exceptions_become_text_in_one_place) {
  EXPECT_THAT(exception_findings(source_dir()), IsEmpty());
}

TEST(source_tree, functions_are_short) {
  EXPECT_THAT(function_findings(source_dir()), IsEmpty());
}

TEST(source_tree, comments_have_a_subject) {
  EXPECT_THAT(comment_findings(source_dir()), IsEmpty());
}

TEST(source_tree, types_have_names_of_their_own) {
  EXPECT_THAT(name_findings(source_dir()), IsEmpty());
}

struct include_case {
  std::string file;
  std::string line;
  bool is_allowed;
};

class dependency_rule : public planted_tree, public ::testing::WithParamInterface<include_case> {};

TEST_P(dependency_rule, says) {
  const auto& [file, line, is_allowed] = GetParam();
  plant(file, "#pragma once\n\n" + line + "\n");
  const auto found = dependency_findings(root_);
  if (is_allowed) {
    EXPECT_THAT(found, IsEmpty());
  } else {
    EXPECT_THAT(found, ElementsAre(HasSubstr(file + ":3: ")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    yes, dependency_rule,
    ::testing::Values(
        include_case{"messages/a.hpp", "#include <vector>", true},
        include_case{"messages/a.hpp", "#include <tl/expected.hpp>", true},
        include_case{"messages/codec/a.cpp", "#include <msgpack.hpp>", true},
        include_case{"messages/a.cpp", "#include <troupe/ids.hpp>", true},
        include_case{"messages/a.cpp", "// #include <caf/all.hpp>", true},
        include_case{"runtime/edge/a.hpp", "#include <troupe/ids.hpp>", true},
        include_case{"runtime/trace/a.hpp", "#include <troupe/trace_event.hpp>", true},
        include_case{"include/troupe/metric.hpp", "#include <troupe/error.hpp>", true},
        include_case{"include/troupe/metric.hpp", "#include <ATen/core/Tensor.h>", true},
        include_case{"runtime/flow/a.hpp", "#include \"runtime/edge/edge.hpp\"", true},
        include_case{"runtime/model/a.hpp", "#include <ATen/core/Tensor.h>", true},
        include_case{"runtime/model/a.hpp", "#include \"runtime/partition/a.hpp\"", true},
        include_case{"actors/a.hpp", "#include <caf/all.hpp>", true},
        include_case{"actors/a.hpp", "#include \"runtime/flow/engine.hpp\"", true},
        include_case{"actors/workers/worker_pool.hpp", "#include \"runtime/process/worker_host.hpp\"", true},
        include_case{"actors/workers/worker_actor.hpp", "#include \"runtime/link/message_link.hpp\"", true},
        include_case{"program/a.hpp", "#include \"actors/director.hpp\"", true},
        include_case{"program/a.hpp", "#include <caf/all.hpp>", true},
        include_case{"cli/a.cpp", "#include <CLI/CLI.hpp>", true},
        include_case{"cli/a.cpp", "#include <troupe/evaluator.hpp>", true},
        include_case{"cli/a.cpp", "#include \"actors/director.hpp\"", true},
        include_case{"examples/a.cpp", "#include \"actors/director.hpp\"", true},
        include_case{"examples/a.cpp", "#include <troupe/troupe.hpp>", true},
        include_case{"messages/CMakeLists.txt", "troupe_library(troupe_messages DEPENDS tl::expected)", true},
        include_case{"runtime/model/CMakeLists.txt", "  DEPENDS troupe::torch PCH troupe_torch_pch", true}));

INSTANTIATE_TEST_SUITE_P(
    no, dependency_rule,
    ::testing::Values(
        include_case{"messages/a.hpp", "#include \"runtime/edge/edge.hpp\"", false},
        include_case{"messages/a.hpp", "#include \"../runtime/edge/edge.hpp\"", false},
        include_case{"messages/a.hpp", "#include <fmt/format.h>", false},
        include_case{"messages/a.hpp", "#include <unistd.h>", false},
        include_case{"messages/codec/a.cpp", "  #  include <caf/all.hpp> // planted", false},
        include_case{"messages/a.hpp", "#include <torch/script.h>", false},
        include_case{"runtime/model/a.cpp", "#include <caf/actor.hpp>", false},
        include_case{"runtime/model/a.cpp", "#include \"actors/director.hpp\"", false},
        include_case{"runtime/config/a.cpp", "#include <CLI/CLI.hpp>", false},
        include_case{"runtime/flow/a.hpp", "#include <torch/script.h>", false},
        include_case{"runtime/edge/inproc/a.hpp", "#include <ATen/core/Tensor.h>", false},
        include_case{"runtime/schedule/a.hpp", "#include <c10/util/Exception.h>", false},
        include_case{"runtime/flow/a.hpp", "#include \"runtime/tensor/tensor_set.hpp\"", false},
        include_case{"actors/a.hpp", "#include \"cli/main.hpp\"", false},
        include_case{"actors/a.hpp", "#include <troupe/evaluator.hpp>", false},
        include_case{"actors/workers/worker_pool.cpp", "#include \"runtime/link/message_link.hpp\"", false},
        include_case{"actors/workers/remote_stage.hpp", "#include \"runtime/process/fd_channel.hpp\"", false},
        include_case{"actors/workers/worker_stages.cpp", "#include \"runtime/edge/shm/shm_transport.hpp\"", false},
        include_case{"program/a.cpp", "#include \"runtime/edge/tcp/tcp_edge.hpp\"", false},
        include_case{"runtime/report/a.hpp", "#include <troupe/topology.hpp>", false},
        include_case{"runtime/flow/a.hpp", "#include <troupe/data_set.hpp>", false},
        include_case{"messages/a.hpp", "#include <troupe/options.hpp>", false},
        include_case{"include/troupe/error.hpp", "#include <troupe/metric.hpp>", false},
        include_case{"include/troupe/metric.hpp", "#include \"runtime/metric/output_rows.hpp\"", false},
        include_case{"include/troupe/metric.hpp", "#include <caf/all.hpp>", false},
        include_case{"include/troupe/metric.hpp", "#include <openssl/ssl.h>", false},
        include_case{"include/troupe/new_one.hpp", "#include <troupe/error.hpp>", false},
        include_case{"actors/a.hpp", "#include <CLI/CLI.hpp>", false},
        include_case{"program/a.hpp", "#include <CLI/CLI.hpp>", false},
        include_case{"program/a.hpp", "#include \"cli/main.hpp\"", false},
        include_case{"cli/a.cpp", "#include \"examples/a.hpp\"", false},
        include_case{"examples/a.cpp", "#include \"cli/main.hpp\"", false},
        include_case{"actors/a.cpp", "#include <troupe/troupe.hpp>", false},
        include_case{"cli/a.cpp", "#include \"testing/trace_checker.hpp\"", false},
        include_case{"runtime/trace/a.cpp", "#include \"testing/trace_checker.hpp\"", false},
        include_case{"runtime/edge/a.cpp", "#include \"tests/support/paths.hpp\"", false},
        include_case{"messages/CMakeLists.txt", "  DEPENDS troupe_edge tl::expected)", false},
        include_case{"runtime/edge/CMakeLists.txt", "  PCH troupe_torch_pch)", false},
        include_case{"runtime/report/CMakeLists.txt", "  DEPENDS CAF::core)", false}));

TEST_F(planted_tree, circles_are_found_at_each_depth) {
  plant("runtime/one/a.hpp", "#include \"runtime/two/deep/b.hpp\"\n");
  plant("runtime/two/deep/b.hpp", "#include <vector>\n");
  plant("runtime/two/c.hpp", "#include \"runtime/one/a.hpp\"\n");
  EXPECT_THAT(circle_findings(root_),
              ElementsAre("runtime/one -> runtime/two: runtime/one/a.hpp includes runtime/two/deep/b.hpp",
                          "runtime/two -> runtime/one: runtime/two/c.hpp includes runtime/one/a.hpp"));
}

TEST_F(planted_tree, a_circle_with_a_subfolder_is_found) {
  plant("actors/a.hpp", "#include \"link/b.hpp\"\n");
  plant("actors/c.hpp", "#include <vector>\n");
  plant("actors/link/b.hpp", "#include \"actors/c.hpp\"\n");
  EXPECT_THAT(circle_findings(root_), ElementsAre("actors -> actors/link: actors/a.hpp includes actors/link/b.hpp",
                                                  "actors/link -> actors: actors/link/b.hpp includes actors/c.hpp"));
}

TEST_F(planted_tree, includes_in_one_direction_are_no_circle) {
  plant("actors/a.hpp", "#include <vector>\n");
  plant("actors/link/b.hpp", "#include \"actors/a.hpp\"\n#include \"runtime/c.hpp\"\n");
  plant("program/d.hpp", "#include \"actors/link/b.hpp\"\n#include \"actors/a.hpp\"\n");
  plant("runtime/c.hpp", "#include \"gone.hpp\"\n");
  EXPECT_THAT(circle_findings(root_), IsEmpty());
}

TEST_F(planted_tree, style_finds_each_fault) {
  plant("messages/bare.hpp", "struct a {};\n");
  plant("runtime/end.cpp", "int a; \n");
  plant("runtime/tab.cpp", "\tint a;\n");
  plant("cli/note.cpp", std::string("// TO") + "DO: planted\n");
  plant("actors/long.cpp", std::string(401, '\n'));
  plant("actors/short.cpp", std::string(400, '\n'));
  plant("runtime/all_pch.hpp", "#include <vector>\n");
  plant("tests/good.hpp", "// first\n#pragma once\n");
  EXPECT_THAT(style_findings(root_),
              ElementsAre("actors/long.cpp:401: file of 401 lines", "cli/note.cpp:1: note to self",
                          "messages/bare.hpp:1: no #pragma once",
                          "runtime/end.cpp:1: white space at the end of the line", "runtime/tab.cpp:1: tab"));
}

TEST_F(planted_tree, a_what_that_becomes_text_is_found) {
  const std::string asks = "} catch (const std::exception& thrown) {\n  say(thrown.what());\n}\n";
  plant("runtime/a.cpp", "void f() try {\n" + asks);
  plant("tests/a_test.cpp", asks);
  plant("program/b.cpp", "fault f = each->what();\n} catch (const own_error& e) {\n  say(e.what());\n}\n");
  EXPECT_THAT(exception_findings(root_), ElementsAre("runtime/a.cpp:3: what() in place of exception_text()"));
}

TEST_F(planted_tree, refused_words_are_found_in_each_kind_of_comment) {
  plant("actors/block.cpp", "/* Nobody\n * knows what\n * is left. */\nint a; /* somebody */ int b;\n");
  plant("cli/trailing.cpp", "int a;  // the end of it.\n#include <a>  // for whoever\n");
  plant("messages/lines.hpp", "#pragma once\n/// The end of\n/// it.\n  int a;  ///< WHAT IS left\n");
  plant("tests/long.cpp", "#define A \\\n  1  // everybody\n");
  EXPECT_THAT(
      comment_findings(root_),
      ElementsAre("actors/block.cpp:1: \"nobody\" in a comment", "actors/block.cpp:2: \"what is\" in a comment",
                  "actors/block.cpp:4: \"somebody\" in a comment", "cli/trailing.cpp:1: \"of it\" in a comment",
                  "cli/trailing.cpp:2: \"whoever\" in a comment", "messages/lines.hpp:2: \"of it\" in a comment",
                  "messages/lines.hpp:4: \"what is\" in a comment", "tests/long.cpp:2: \"everybody\" in a comment"));
}

TEST_F(planted_tree, comments_of_the_product_begin_with_their_subject) {
  plant("runtime/first.hpp", "#pragma once\n/// Of the file.\nint a;  ///< Of the system.\nint b;  // the end\n");
  plant("cli/second.cpp", "f(\"// Of\");  // It ends. Of two one.\n// Off\n");
  plant("tests/third.cpp", "// Of the test\n");
  EXPECT_THAT(comment_findings(root_), ElementsAre("runtime/first.hpp:2: a comment begins with \"Of\"",
                                                   "runtime/first.hpp:3: a comment begins with \"Of\""));
}

TEST_F(planted_tree, refused_words_outside_of_comments_are_taken) {
  plant("cli/literal.cpp",
        "const char* a = \"// what is\";  // a text\nconst char* b = R\"(\n// of it\n)\";\nf('\"');\n");
  plant("cli/names.cpp", "int nobody = 0;  // somewhat is, of its own\n// what() is a call; `what` is a name\n");
  plant("cli/parts.cpp", "int a;  // the end of\nint it;  // it\n// what\n//\n// is that\n\n// of\n\n// it\n");
  plant("cli/CMakeLists.txt", "# what is built\n");
  EXPECT_THAT(comment_findings(root_), IsEmpty());
}

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "  ++a;\n";
  return text;
}

TEST_F(planted_tree, two_types_of_one_name_are_found) {
  plant("messages/a.hpp", "#pragma once\nnamespace troupe {\nstruct batch {\n};\nclass first;\n}\n");
  plant("runtime/b.hpp", "#pragma once\nnamespace troupe {\nclass batch final : public first {\n};\n}\n");
  plant("runtime/c.hpp", "#pragma once\nnamespace troupe::other {\nstruct batch {\n  struct first {\n  };\n};\n}\n");
  plant("tests/d.hpp", "#pragma once\nnamespace troupe {\nstruct batch {\n};\n}\n");
  EXPECT_THAT(name_findings(root_), ElementsAre(AllOf(HasSubstr("runtime/b.hpp"), HasSubstr("messages/a.hpp"))));
}

TEST_F(planted_tree, long_functions_are_found_by_their_first_line) {
  plant("messages/edge_of_rule.cpp", "void f() {\n" + lines(58) + "}\nvoid g()\n{\n" + lines(58) + "}\n");
  plant("messages/in_class.hpp",
        "#pragma once\nnamespace a {\nclass alignas(64) b : c<d> {\n  b() : a_{1}, b_({2}) {\n" + lines(59) +
            "  }\n};\n}  // namespace a\n");
  plant("runtime/arguments.cpp", "int f(\n    options given = {},\n    int x = 1) noexcept {\n" + lines(57) + "}\n");
  plant("tests/gtest.cpp", "TEST(a, b) {\n  const auto f = [] {\n" + lines(59) + "  };\n}\n");
  plant("tests/lambda.cpp", "const auto f = [](int a) {\n" + lines(59) + "};\n");
  EXPECT_THAT(
      function_findings(root_),
      ElementsAre("messages/edge_of_rule.cpp:61: function of 61 lines", "messages/in_class.hpp:4: function of 61 lines",
                  "runtime/arguments.cpp:1: function of 61 lines", "tests/gtest.cpp:1: function of 63 lines",
                  "tests/lambda.cpp:1: function of 61 lines"));
}

TEST_F(planted_tree, what_is_no_function_may_be_long) {
  plant("messages/table.cpp", "constexpr int a = 0;\nconstexpr std::array table = {\n" + lines(80) +
                                  "};\nint b[] = {\n" + lines(80) + "};\n");
  plant("messages/type.hpp", "#pragma once\ntemplate <class T>\nstruct [[nodiscard]] a : b {\n" + lines(80) + "};\n");
  plant("messages/text.cpp", "const char* a = R\"(\nvoid f() {\n" + lines(80) + ")\";\n/* void f() {\n" + lines(80) +
                                 "*/\n" + "#define F \\\n  void f() {\nvoid f() { g('{', \"}{\", 1'000); }\n" +
                                 lines(80));
  EXPECT_THAT(function_findings(root_), IsEmpty());
}

}  // namespace
}  // namespace troupe::testing
