// Goal: what a worker prints is in the log with its rank, its stage once it has one, and as a warning where the worker
// says why it ends. Method: lines as the process host hands them over.
#include "actors/workers/worker_process.hpp"

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

TEST(worker_process, logs_lines_with_rank_and_stage) {
  const auto host = *process_host::create();
  auto channel = *fd_channel::make();
  worker_process worker("worker 3", std::move(channel.first), *host, 3);
  std::vector<std::string> logged;
  worker.listen({.on_line = [&](const log_record& record) { logged.push_back(to_string(record)); }, .on_exit = {}});
  worker.on_output({}, output_stream::standard_output, "early");
  EXPECT_EQ(worker.name(), "worker 3");
  worker.rename("stage 1");
  EXPECT_EQ(worker.name(), "stage 1");
  EXPECT_EQ(worker.rank(), 3U);
  worker.on_output({}, output_stream::standard_error, "any line");
  worker.on_output({}, output_stream::standard_error, "error E0708: worker: its driver is gone");
  worker.on_output({}, output_stream::standard_output, "error E0708: of a model");
  EXPECT_THAT(logged, ElementsAre("[rank 3] early", "[stage 1, rank 3] any line",
                                  "warning: [stage 1, rank 3] error E0708: worker: its driver is gone",
                                  "[stage 1, rank 3] error E0708: of a model"));
}

TEST(worker_process, logs_its_end_once_with_its_number_and_the_reason_of_a_kill) {
  const auto host = *process_host::create();
  auto channel = *fd_channel::make();
  worker_process worker("worker 3", std::move(channel.first), *host, 3);
  std::vector<std::string> logged;
  worker.listen({.on_line = [&](const log_record& record) { logged.push_back(to_string(record)); }, .on_exit = {}});
  exit_report report;
  report.pid = 42;
  report.kind = exit_kind::signalled;
  report.value = SIGKILL;
  EXPECT_EQ(worker.end_of(report), "killed by SIGKILL");
  worker.kill("it was late");
  worker.log_end(report, "ended early");
  worker.log_end(report, "ended early");
  EXPECT_THAT(logged, ElementsAre("warning: [rank 3] worker 3 (process 42) ended early: it was late, and was killed"));
  report.value = SIGSEGV;
  EXPECT_EQ(worker.end_of(report), "killed by SIGSEGV") << "it died of something else just before";
}

}  // namespace
}  // namespace troupe::testing
