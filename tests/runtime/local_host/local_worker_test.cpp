// Goal: what a worker of this host prints is in the log with its rank, its stage once it has one, and as a warning
// where the worker says why it ends. Method: lines and ends as the process host hands them over.
#include "runtime/local_host/local_worker.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/runtime/local_host/noted_worker.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

/// Never started.
struct unborn_worker {
  unborn_worker() { made->tell(news); }

  std::vector<std::string> logged;
  const std::shared_ptr<noted_worker> news = std::make_shared<noted_worker>();
  std::unique_ptr<process_host> host = *process_host::create();
  std::pair<fd_channel, unique_fd> channel = *fd_channel::make();
  std::pair<unique_fd, unique_fd> sockets = *make_link_sockets();
  std::unique_ptr<link_loop> links = *link_loop::create({});
  const std::shared_ptr<local_worker> made = std::make_shared<local_worker>(
      "worker 3", 3, [this](const log_record& record) { logged.push_back(to_string(record)); },
      local_worker::parts{.channel = std::move(channel.first),
                          .link = links->open(std::move(sockets.first), link_side::driver),
                          .page = *shared_page::create(),
                          .host = *host});
  local_worker& worker = *made;
};

TEST(local_worker, logs_lines_with_rank_and_stage) {
  unborn_worker one;
  one.worker.on_output({}, output_stream::standard_output, "early");
  EXPECT_EQ(one.worker.name(), "worker 3");
  one.worker.rename("stage 1");
  EXPECT_EQ(one.worker.name(), "stage 1");
  EXPECT_EQ(one.worker.rank(), 3U);
  one.worker.on_output({}, output_stream::standard_error, "any line");
  one.worker.on_output({}, output_stream::standard_error, "error E0708: worker: its driver is gone");
  one.worker.on_output({}, output_stream::standard_output, "error E0708: of a model");
  EXPECT_THAT(one.logged, ElementsAre("[rank 3] early", "[stage 1, rank 3] any line",
                                      "warning: [stage 1, rank 3] error E0708: worker: its driver is gone",
                                      "[stage 1, rank 3] error E0708: of a model"));
}

TEST(local_worker, is_known_by_the_number_of_its_process_after_its_end) {
  unborn_worker one;
  exit_report report;
  report.pid = 42;
  one.worker.on_exit(report);
  EXPECT_EQ(one.worker.place(), "process 42");
  EXPECT_THAT(one.news->first(1), ElementsAre("process 42 exited"));
}

TEST(local_worker, has_its_page_in_memory_that_others_can_map) {
  unborn_worker one;
  EXPECT_FALSE(one.worker.telemetry().has_begun);
  const auto there = shared_page::adopt(unique_fd(::dup(one.worker.page()->descriptor())));
  ASSERT_TRUE(there) << to_string(there.error());
  there->page()->taken = true;
  there->page()->counters.samples = 7;
  EXPECT_TRUE(one.worker.telemetry().has_begun);
  EXPECT_EQ(one.worker.telemetry().samples, 7U);
}

}  // namespace
}  // namespace troupe::testing
