// Goal: how a worker ended and what it works on arrive at a driver as they were, by the driver's own clock, and numbers
// that no worker has are refused. Method: the message on its way is the bytes of the codec.
#include "runtime/agent/agent_reports.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "messages/codec/codec.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

template <class Message>
Message sent(const Message& message) {
  return *codec::decode<Message>(*codec::encode(message));
}

exit_report arrived(const exit_report& report, std::uint32_t rank) {
  return *report_of(sent(message_of(report, rank)));
}

TEST(agent_reports, an_end_arrives_as_it_was) {
  exit_report there;
  there.name = "a name of the agent's";
  there.pid = 4711;
  there.kind = exit_kind::signalled;
  there.value = 11;
  there.core_dumped = true;
  there.max_resident_bytes = std::uint64_t{7} << 40;
  there.last_lines = {"first", "", "last"};
  const exit_report here = arrived(there, 12);
  EXPECT_EQ(here.name, "worker 12");
  EXPECT_EQ(here.pid, 4711);
  EXPECT_EQ(here.kind, exit_kind::signalled);
  EXPECT_EQ(here.value, 11);
  EXPECT_TRUE(here.core_dumped);
  EXPECT_EQ(here.max_resident_bytes, std::uint64_t{7} << 40);
  EXPECT_THAT(here.last_lines, ElementsAre("first", "", "last"));
  EXPECT_EQ(here.describe(), there.describe());
}

TEST(agent_reports, every_kind_and_status_arrives) {
  for (const exit_kind kind : {exit_kind::exited, exit_kind::signalled, exit_kind::unknown, exit_kind::lost}) {
    for (const int value : {0, 1, 64, 255}) {
      exit_report there;
      there.kind = kind;
      there.value = value;
      EXPECT_EQ(arrived(there, 0).kind, kind);
      EXPECT_EQ(arrived(there, 0).value, value);
    }
  }
}

TEST(agent_reports, a_lost_worker_has_a_note_and_no_lines) {
  exit_report there;
  there.kind = exit_kind::lost;
  there.note = "could not be started: no such file";
  const exit_report here = arrived(there, 3);
  EXPECT_EQ(here.note, "could not be started: no such file");
  EXPECT_THAT(here.last_lines, IsEmpty());
  EXPECT_EQ(report_of(worker_ended{.kind = static_cast<std::uint32_t>(exit_kind::lost), .last_lines = {}})->note,
            "it could not be started");
}

TEST(agent_reports, what_a_worker_told_arrives_with_all_parts) {
  const error told{error_code::process_failed, "threads", "8 are needed\n  and 4 are there", "Raise ulimit -u"};
  for (const exit_kind kind : {exit_kind::exited, exit_kind::lost}) {
    exit_report there;
    there.kind = kind;
    there.value = 1;
    there.told = told;
    if (kind == exit_kind::lost) there.note = "it could not be started";
    if (kind == exit_kind::exited) there.last_lines = {"first"};
    const exit_report here = arrived(there, 3);
    ASSERT_TRUE(here.told);
    EXPECT_EQ(here.told->code, told.code);
    EXPECT_EQ(here.told->where, told.where);
    EXPECT_EQ(here.told->cause, told.cause);
    EXPECT_EQ(here.told->fix, told.fix);
    EXPECT_EQ(here.note, there.note);
    EXPECT_EQ(here.last_lines, there.last_lines);
  }
}

TEST(agent_reports, an_end_that_no_process_has_is_refused) {
  constexpr auto greatest = std::numeric_limits<std::uint32_t>::max();
  const worker_ended good{.rank = 1, .pid = 2, .kind = 0, .value = 255, .core_dumped = 1, .last_lines = {}};
  EXPECT_TRUE(report_of(good));
  const auto expect_refused = [&](auto member, std::uint32_t value) {
    worker_ended bad = good;
    bad.*member = value;
    const auto report = report_of(bad);
    ASSERT_FALSE(report) << value;
    EXPECT_EQ(report.error().code, error_code::wire_malformed);
  };
  for (const std::uint32_t bad : {4u, greatest}) expect_refused(&worker_ended::kind, bad);
  for (const std::uint32_t bad : {256u, greatest}) expect_refused(&worker_ended::value, bad);
  for (const std::uint32_t bad : {2u, greatest}) expect_refused(&worker_ended::core_dumped, bad);
  for (const std::uint32_t bad : {1u << 31, greatest}) expect_refused(&worker_ended::pid, bad);
}

// --- telemetry -------------------------------------------------------------------------------------------------------

stage_telemetry busy_stage(std::chrono::nanoseconds since) {
  return {.has_begun = true,
          .working_on = micro_batch_id{3, 99},
          .since = since,
          .median = 12ms,
          .micro_batches = 100,
          .samples = 6400,
          .forward_ns = 1'000'000,
          .busy_ns = 2'000'000,
          .arrived_bytes = 3'000'000};
}

TEST(agent_reports, telemetry_arrives_by_the_clock_of_the_driver) {
  // the node has been up for a year, the driver for an hour
  const worker_telemetry way = sent(message_of(busy_stage(8760h - 5s), 7, 8760h));
  EXPECT_EQ(way.rank, 7U);
  const stage_telemetry here = telemetry_of(way, 1h);
  EXPECT_TRUE(here.has_begun);
  EXPECT_EQ(here.working_on, (micro_batch_id{3, 99}));
  EXPECT_EQ(here.since, std::chrono::nanoseconds(1h - 5s));
  EXPECT_EQ(here.median, std::chrono::nanoseconds(12ms));
  EXPECT_EQ(here.micro_batches, 100U);
  EXPECT_EQ(here.samples, 6400U);
  EXPECT_EQ(here.forward_ns, 1'000'000U);
  EXPECT_EQ(here.busy_ns, 2'000'000U);
  EXPECT_EQ(here.arrived_bytes, 3'000'000U);
}

TEST(agent_reports, an_idle_stage_arrives_as_idle) {
  const stage_telemetry here = telemetry_of(sent(message_of(stage_telemetry{}, 7, 1h)), 1h);
  EXPECT_FALSE(here.has_begun);
  EXPECT_FALSE(here.working_on);
  EXPECT_FALSE(here.since);
  EXPECT_FALSE(here.median);
}

TEST(agent_reports, a_time_is_never_before_the_clock_nor_in_the_future) {
  const auto since_after = [](std::chrono::nanoseconds began, std::chrono::nanoseconds there, auto here) {
    return *telemetry_of(sent(message_of(busy_stage(began), 7, there)), here).since;
  };
  EXPECT_EQ(since_after(10s, 9s, 1h), std::chrono::nanoseconds(1h)) << "the page says what it likes";
  EXPECT_EQ(since_after(0s, 2h, 1h), 0ns) << "in work before this machine was up";
}

TEST(agent_reports, the_greatest_numbers_overflow_nothing) {
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  const worker_telemetry said{
      .working_on = micro_batch_id{greatest, greatest}, .since_ns = greatest, .median_ns = greatest};
  const stage_telemetry here = telemetry_of(sent(said), 1h);
  EXPECT_EQ(here.since, 0ns);
  EXPECT_EQ(here.median, std::chrono::nanoseconds::max());
}

}  // namespace
}  // namespace troupe::testing
