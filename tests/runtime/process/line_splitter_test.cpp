// Goal: however bytes are cut on their way, the lines are the same, and the kept bytes are bounded.
#include "runtime/process/line_splitter.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> lines_of(const std::string& bytes, std::size_t step) {
  std::vector<std::string> lines;
  const line_sink sink = [&](std::string_view line) { lines.emplace_back(line); };
  line_splitter splitter;
  for (std::size_t at = 0; at < bytes.size(); at += step) splitter.feed(std::string_view(bytes).substr(at, step), sink);
  splitter.finish(sink);
  splitter.finish(sink);
  return lines;
}

TEST(line_splitter, cuts_do_not_matter) {
  for (std::size_t step = 1; step < 20; ++step) {
    EXPECT_THAT(lines_of("one\n\ntwo three\nfour", step), ElementsAre("one", "", "two three", "four"));
    EXPECT_THAT(lines_of("one\n", step), ElementsAre("one"));
    EXPECT_THAT(lines_of("", step), ElementsAre());
    EXPECT_THAT(lines_of("\n", step), ElementsAre(""));
  }
}

TEST(line_splitter, long_lines_are_cut_and_the_next_one_is_whole) {
  const std::size_t max = limits::worker_output_line_bytes_max;
  for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, 3 * max}) {
    EXPECT_THAT(lines_of(std::string(max, 'x') + "\n" + std::string(max + 1, 'y') + "\nnext", step),
                ElementsAre(std::string(max, 'x'), std::string(max, 'y'), "next"));
  }
}

}  // namespace
}  // namespace troupe::testing
