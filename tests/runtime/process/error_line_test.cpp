// Goal: an error goes from a process to its starter with all its parts, and none of its texts can be taken for another
// one. Method: lines as processes write them, whole and damaged; and a process that writes one, as its host sees it.
#include "runtime/process/error_line.hpp"

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(error_line, keeps_all_parts) {
  const error told{error_code::wire_handshake, "joining at \"w0\"", "it is none\n  of two lines", "Look at \\ it"};
  const auto read = error_in(error_line(told));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->code, told.code);
  EXPECT_EQ(read->where, told.where);
  EXPECT_EQ(read->cause, told.cause);
  EXPECT_EQ(read->fix, told.fix);
  EXPECT_EQ(error_line(told).find('\n'), std::string::npos);
}

TEST(error_line, is_bounded_whatever_the_texts_are) {
  for (const std::string& part : {std::string(100'000, 'x'), std::string(100'000, '"'), std::string(100'000, '\x1b'),
                                  std::string(100'000, '\xff'), std::string(100'000, '\n')}) {
    const std::string line = error_line({error_code::internal, part, part, part});
    EXPECT_LE(line.size(), limits::worker_output_line_bytes_max);
    const auto read = error_in(line);
    ASSERT_TRUE(read) << line.substr(0, 200);
    EXPECT_EQ(to_string(*read).find('\x1b'), std::string::npos);
  }
}

TEST(error_line, other_lines_are_none) {
  const std::string line = error_line({error_code::internal, "a", "b", "c"});
  for (std::size_t i = 0; i < line.size(); ++i) EXPECT_FALSE(error_in(line.substr(0, i))) << i;
  for (const std::string other : {
           R"(troupe-error {"code":1,"where":"","cause":"","fix":""})",
           R"(troupe-error {"code":-707,"where":"","cause":"","fix":""})",
           R"(troupe-error {"code":707.5,"where":"","cause":"","fix":""})",
           R"(troupe-error {"code":4294968003,"where":"","cause":"","fix":""})",
           R"(troupe-error {"code":707,"where":"","cause":""})",
           R"(troupe-error {"code":707,"where":"","cause":"","fix":"","more":""})",
           R"(troupe-error {"code":707,"where":1,"cause":"","fix":""})",
           R"(troupe-error [707])",
           "error E0707: a",
       })
    EXPECT_FALSE(error_in(other)) << other;
  EXPECT_FALSE(error_in(line + std::string(limits::worker_output_line_bytes_max, ' ')));
}

TEST(error_line, of_text_the_last_error_counts_and_its_fix_is_no_cause) {
  std::vector<std::string> lines = {"error E0201: a: first",
                                    "loading",
                                    "error E0707: b: c: second",
                                    "  goes on",
                                    "  fix: look",
                                    "  more: troupe explain E0707",
                                    "Connection to w1 closed."};
  const auto told = take_last_error(lines);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->code, error_code::wire_handshake);
  EXPECT_EQ(told->cause, "b: c: second\n  goes on");
  EXPECT_EQ(told->fix, "look");
  EXPECT_THAT(lines, ElementsAre("error E0201: a: first", "loading", "Connection to w1 closed."));
  std::vector<std::string> none = {"error: E0707", "error E07: a", "error E9999: a", "  error E0707: a", "error E", ""};
  EXPECT_FALSE(take_last_error(none));
  EXPECT_EQ(none.size(), 6U);
}

TEST(error_line, of_a_process_is_in_the_report_of_its_end_and_text_for_its_listener) {
  const auto host = new_host();
  const auto listener = run_probe(*host, probe({"tell", "3"}));
  const exit_report ended = listener->await_exit();
  ASSERT_TRUE(ended.told);
  EXPECT_EQ(ended.told->where, "probe");
  EXPECT_EQ(ended.told->fix, "nothing");
  EXPECT_THAT(ended.last_lines, ElementsAre("before"));
  EXPECT_THAT(listener->err(), ElementsAre("before", "error E0614: probe: it was asked to", "  fix: nothing"));
  EXPECT_EQ(ended.describe(), "exited with status 3: E0614: probe: it was asked to; its last lines:\n  before");
  EXPECT_FALSE(run_probe(*host, probe({"tell", "0"}))->await_exit().told) << "it has not failed";
}

}  // namespace
}  // namespace troupe::testing
