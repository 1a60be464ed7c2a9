// Goal: a hello that is not that of the process at the other end of its link is found out, and named by its field.
// Method: true and false hellos against the facts that the pool knows.
#include <gmock/gmock.h>

#include "actors/workers/worker_claims.hpp"
#include "tests/actors/workers/unused_transport.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using testing::unused_transport;

TEST(worker_hello, is_held_against_the_process) {
  const unused_transport without_contacts;
  const unused_transport with_contacts({.has_contacts = true});
  const worker_hello said{.pid = 7, .edge_contact = 0};
  const auto wrong = [&](const hello_facts& known) { return objection_to(said, known).value_or(""); };
  EXPECT_EQ(wrong({.pid = 7, .edges = &without_contacts}), "");
  EXPECT_THAT(wrong({.pid = 8, .edges = &without_contacts}), HasSubstr("worker_hello.pid is 7, and it is process 8"));
  EXPECT_THAT(wrong({.pid = 7, .edges = &with_contacts}), HasSubstr("worker_hello.edge_contact is 0"));
  EXPECT_THAT(wrong({.pid = 7, .edges = &without_contacts, .is_first = false}),
              HasSubstr("worker_hello comes a second time"));
  const worker_hello with_contact{.pid = 7, .edge_contact = 9};
  EXPECT_THAT(objection_to(with_contact, {.pid = 7, .edges = &without_contacts}).value_or(""),
              HasSubstr("worker_hello.edge_contact is 9"));
  EXPECT_FALSE(objection_to(with_contact, {.pid = 7, .edges = &with_contacts}));
}

}  // namespace
}  // namespace troupe
