// Goal: a record becomes one line of text or one object of JSON that no text in it can forge, in the file asked for or
// on stderr, and equal ones are limited. Method: records with hostile texts, into files and a function of the test's.
#include "runtime/log/log_writer.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// 2026-02-03 04:05:06.789 UTC
constexpr std::chrono::system_clock::time_point noted{1770091506789ms};

struct log_file : ::testing::Test {
  log_file() {
    std::string made = (fs::temp_directory_path() / "troupe-log-XXXXXX").string();
    directory = ::mkdtemp(made.data());
    file = (directory / "run.log").string();
  }
  ~log_file() override { fs::remove_all(directory); }

  [[nodiscard]] std::string content() const {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }
  void write(const std::vector<log_record>& records, log_format format = log_format::text) const {
    const auto writer = log_writer::open({.file = file, .format = format});
    ASSERT_TRUE(writer) << to_string(writer.error());
    for (const log_record& each : records) (*writer)->write(each);
  }

  fs::path directory;
  std::string file;
};

TEST_F(log_file, gets_each_line_with_its_time_and_is_appended_to) {
  std::ofstream(file) << "before\n";
  write({{.level = log_level::warning, .text = "100 % {} %v", .stage = "stage 1", .time = noted}});
  write({{.text = "later", .time = noted + 1s}});
  EXPECT_EQ(content(),
            "before\n"
            "2026-02-03T04:05:06.789Z warning: [stage 1] 100 % {} %v\n"
            "2026-02-03T04:05:07.789Z later\n");
}

TEST_F(log_file, as_json_has_an_object_per_line) {
  const std::string hostile = "a\"\n{\"level\":\"error\"}\x1b\xff \xe2\x82\xac";
  write({{.level = log_level::error, .text = hostile, .rank = 3, .stage = "stage 1", .time = noted},
         {.level = log_level::debug, .text = "%v", .time = noted}},
        log_format::json);
  std::istringstream lines(content());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  EXPECT_THAT(objects,
              ElementsAre(nlohmann::json{{"time", "2026-02-03T04:05:06.789Z"},
                                         {"level", "error"},
                                         {"message", "a\"\n{\"level\":\"error\"}\x1b\ufffd \u20ac"},
                                         {"rank", 3},
                                         {"stage", "stage 1"}},
                          nlohmann::json{{"time", "2026-02-03T04:05:06.789Z"}, {"level", "debug"}, {"message", "%v"}}));
  EXPECT_EQ(content().find('\x1b'), std::string::npos);
}

TEST_F(log_file, tells_of_repeats_at_the_latest_at_its_end) {
  write(std::vector<log_record>(42, log_record{.text = "again", .time = noted}));
  EXPECT_EQ(content(),
            "2026-02-03T04:05:06.789Z again\n"
            "2026-02-03T04:05:06.789Z ... 41 more like this: again\n");
}

TEST_F(log_file, that_cannot_be_written_is_an_error_at_the_opening) {
  const auto error_of = [](const std::string& path) {
    const auto made = log_writer::open({.file = path});
    EXPECT_FALSE(made) << path;
    return made ? error{} : made.error();
  };
  EXPECT_EQ(error_of(directory / "none" / "run.log").code, error_code::output_unwritable);
  EXPECT_FALSE(fs::exists(directory / "none")) << "no directory is made";
  EXPECT_THAT(error_of(directory).cause, HasSubstr("Is a directory"));
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(error_of(file).code, error_code::output_unwritable) << "it would wait for a reader";
}

TEST(log_writer, that_cannot_write_any_more_goes_on) {
  const auto writer = log_writer::open({.file = "/dev/full"});
  ASSERT_TRUE(writer) << to_string(writer.error());
  ::testing::internal::CaptureStderr();
  (*writer)->write({.text = "one"});
  (*writer)->write({.text = "two"});
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, ::testing::StartsWith("warning: /dev/full: the log cannot be written: "));
  EXPECT_EQ(std::ranges::count(told, '\n'), 1) << told;
}

TEST(log_writer, without_a_file_writes_to_stderr_or_to_its_output) {
  ::testing::internal::CaptureStderr();
  (*log_writer::open({}))->write({.level = log_level::warning, .text = "a"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warning: a\n");
  std::string taken;
  (*log_writer::open({.output = [&](std::string_view line) { taken += line; }}))->write({.text = "b"});
  EXPECT_EQ(taken, "b\n");
}

}  // namespace
}  // namespace troupe::testing
