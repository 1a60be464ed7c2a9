// Goal: the end of a worker is told once, with the reason of a kill, wherever it lived. Method: a worker that is no
// process, and reports of its end.
#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/actors/workers/fake_host.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

TEST(hosted_worker, logs_its_end_once_with_its_place_and_the_reason_of_a_kill) {
  std::vector<std::string> logged;
  fake_worker worker(3, [&](const log_record& record) { logged.push_back(to_string(record)); });
  exit_report report;
  report.kind = exit_kind::signalled;
  report.value = SIGKILL;
  EXPECT_EQ(worker.end_of(report), "killed by SIGKILL");
  worker.kill("it was late");
  worker.kill("it was later");
  EXPECT_EQ(worker.kills, 2U);
  worker.log_end(report, "ended early");
  worker.log_end(report, "ended early");
  EXPECT_THAT(logged,
              ElementsAre("warning: [rank 3] worker 3 (process 1003) ended early: it was late, and was killed"));
  report.value = SIGSEGV;
  EXPECT_EQ(worker.end_of(report), "killed by SIGSEGV") << "it died of something else just before";
}

}  // namespace
}  // namespace troupe::testing
