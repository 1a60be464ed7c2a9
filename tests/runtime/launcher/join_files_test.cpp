// Goal: a ticket reaches the node that waits for it, whole, by a file that others cannot read, and nothing is left.
#include "runtime/launcher/join_files.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "runtime/join/join_file.hpp"
#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

const std::vector<node_slots> two_nodes = {{"w1", {0}}, {"w3", {0}}};

steady_clock::time_point in(std::chrono::milliseconds time) {
  return steady_clock::now() + time;
}

TEST(join_files, carry_a_ticket_to_the_node_that_waits) {
  const scratch_directory place;
  const std::string prefix = (place.path() / "job").string();
  auto files = join_files::make(prefix, two_nodes, {1, 3});
  ASSERT_TRUE(files) << to_string(files.error());
  const std::string ticket = ticket_text("w3", 60s);
  expected<void> found;
  std::thread agent([&] { found = await_join_file(prefix + ".3", "w3", in(60s)); });
  const auto written = files->write("w3", ticket);
  agent.join();
  ASSERT_TRUE(written) << to_string(written.error());
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(to_text(*read_join_file(prefix + ".3"))->view(), ticket);
  struct stat about {};
  ASSERT_EQ(::stat((prefix + ".3").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  files->remove("w3");
  EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(join_files, of_an_earlier_launch_go_and_none_is_left_at_the_end) {
  const scratch_directory place;
  const std::string prefix = (place.path() / "job").string();
  for (const char* old : {".1", ".3.new"}) std::ofstream(prefix + old) << "old";
  {
    auto files = join_files::make(prefix, two_nodes, {1, 3});
    ASSERT_TRUE(files);
    EXPECT_TRUE(fs::is_empty(place.path()));
    ASSERT_TRUE(files->write("w1", ticket_text("w1", 60s)));
    ASSERT_TRUE(files->write("w1", ticket_text("w1", 60s))) << "a later ticket replaces the first";
    EXPECT_FALSE(fs::is_empty(place.path()));
  }
  EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(join_files, what_cannot_be_written_is_named) {
  const scratch_directory place;
  const std::string prefix = (place.path() / "absent" / "job").string();
  auto files = join_files::make(prefix, two_nodes, {1, 3});
  ASSERT_TRUE(files);
  const auto written = files->write("w1", ticket_text("w1", 60s));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, error_code::output_unwritable);
  EXPECT_THAT(written.error().where, HasSubstr("job.1"));
  EXPECT_FALSE(files->write("w2", ticket_text("w2", 60s))) << "no node of the launch";
  EXPECT_FALSE(files->write("w1", "nonsense"));
  fs::create_directories(place.path() / "absent" / "job.1");
  EXPECT_FALSE(join_files::make(prefix, two_nodes, {1, 3})) << "a directory is in the way";
}

TEST(await_join_file, names_file_and_node_at_its_deadline) {
  const scratch_directory place;
  const std::string path = (place.path() / "job.3").string();
  const auto absent = await_join_file(path, "w3", in(50ms));
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().where, HasSubstr("w3"));
  EXPECT_THAT(absent.error().where, HasSubstr(path));
  // of an earlier launch that was killed
  const auto old = parse_join_ticket(ticket_text("w3", -1s));
  ASSERT_TRUE(write_join_file(path, *old));
  const auto left = await_join_file(path, "w3", in(50ms));
  ASSERT_FALSE(left);
  EXPECT_THAT(left.error().cause, HasSubstr("s ago by this node's clock"));
}

/// The clock of this node is ahead of the driver's: each ticket looks as if it had expired.
TEST(await_join_file, takes_a_ticket_that_comes_while_it_waits_whatever_the_clock_says) {
  const scratch_directory place;
  const std::string path = (place.path() / "job.3").string();
  ASSERT_TRUE(write_join_file(path, *parse_join_ticket(ticket_text("w3", -3600s))));
  std::atomic<bool> is_over{false};
  std::thread driver([&] {
    auto files = join_files::make((place.path() / "job").string(), {{"w3", {0}}}, {3});
    ASSERT_TRUE(files);
    // another one each time, so that some are written after the first look
    while (!is_over) EXPECT_TRUE(files->write("w3", ticket_text("w3", -1800s)));
  });
  const auto found = await_join_file(path, "w3", in(20s));
  EXPECT_TRUE(found) << to_string(found.error());
  is_over = true;
  driver.join();
}

TEST(await_join_file, tells_a_wrong_file_at_once) {
  const scratch_directory place;
  const std::string path = (place.path() / "job.3").string();
  std::ofstream(path) << ticket_text("w3", 60s);
  fs::permissions(path, fs::perms::owner_read | fs::perms::group_read);
  const auto found = await_join_file(path, "w3", in(60s));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::config_bad_value);
}

}  // namespace
}  // namespace troupe::testing
