// Goal: a hello that is not that of the process at the other end of its link is found out, and named by its field.
// Method: true and false hellos against the facts that the pool knows.
#include <gmock/gmock.h>

#include "actors/workers/worker_claims.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(worker_hello, is_held_against_the_process) {
  const worker_hello said{.pid = 7, .edge_port = 0};
  const auto wrong = [&](const hello_facts& known) { return objection_to(said, known).value_or(""); };
  EXPECT_EQ(wrong({.place = "process 7"}), "");
  EXPECT_THAT(wrong({.place = "process 8"}), HasSubstr("worker_hello.pid is 7, and it is process 8"));
  EXPECT_THAT(wrong({.place = "process 7", .has_tcp_edges = true}), HasSubstr("worker_hello.edge_port is 0"));
  EXPECT_THAT(wrong({.place = "process 7", .is_first = false}), HasSubstr("worker_hello comes a second time"));
  const worker_hello with_port{.pid = 7, .edge_port = 9};
  EXPECT_THAT(objection_to(with_port, {.place = "process 7"}).value_or(""), HasSubstr("worker_hello.edge_port is 9"));
  EXPECT_FALSE(objection_to(with_port, {.place = "process 7", .has_tcp_edges = true}));
}

}  // namespace
}  // namespace troupe
