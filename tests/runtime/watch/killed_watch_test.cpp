// Goal: a watch that is killed at any moment, many times, has each checkpoint once in its table, and ends with the
// best. Method: watches in child processes, killed by SIGKILL once they have come to a random event, over a folder into
// which checkpoints are renamed meanwhile; the same random values in a plain loop.
#include <csignal>
#include <random>
#include <set>

#include <sys/wait.h>

#include "../../support/child_events.hpp"
#include "watched_folder.hpp"

namespace troupe::testing {
namespace {

class killed_watch : public watched_folder {
 protected:
  /// In a child process, with real time, and files that count as whole at once.
  pid_t start(const child_events& events) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    auto asked = request();
    asked.waits.settle = ms(0);
    watch_means with;
    with.evaluate = [&](const seen_checkpoint& which) -> expected<nlohmann::ordered_json> {
      events.say();
      return accuracy(values_.at(which.name));
    };
    with.tell = [&](const watch_row&, bool) { events.say(); };
    with.pause = [](ms) { return true; };
    ::_exit(watch(asked, with) ? 0 : 1);
  }

  void appear(std::uint64_t step, double value) {
    const std::string name = "step-" + std::to_string(step) + ".pt";
    values_[name] = value;
    put("writing.tmp");
    std::filesystem::rename(folder_ / "writing.tmp", folder_ / name);
  }
};

TEST_F(killed_watch, has_each_checkpoint_once_and_the_best) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int kills = 0;
  for (std::uint64_t step = 1; step <= 60; ++step) {
    appear(step, static_cast<double>(random() % 1000) / 1024);
    child_events events;
    const pid_t child = start(events);
    const bool has_come = events.wait_for(random() % 3);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(has_come || WIFEXITED(status));
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    kills += WIFSIGNALED(status) ? 1 : 0;
  }
  EXPECT_GT(kills, 10);
  child_events unread;
  const pid_t last = start(unread);
  int status = 0;
  ::waitpid(last, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const auto report = watch(request(), means());
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_TRUE(evaluated_.empty());
  const auto found = names(*report);
  EXPECT_EQ(found.size(), values_.size());
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), values_.size());
  double best = -1;
  for (const watch_row& row : report->rows) {
    EXPECT_EQ(row.metrics["accuracy"]["value"], values_[row.checkpoint]);
    best = std::max(best, values_[row.checkpoint]);
  }
  EXPECT_EQ(report->best_value, best);
  EXPECT_EQ(values_[best_link()], best);
  for (const auto& each : std::filesystem::directory_iterator(folder_)) {
    const std::string name = each.path().filename().string();
    EXPECT_TRUE(values_.contains(name) || name == "best" || name == "troupe-watch" || name.starts_with(".best"))
        << name;
  }
}

}  // namespace
}  // namespace troupe::testing
