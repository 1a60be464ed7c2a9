// Goal: what the outside reads of an engine: who works on what, for how long, what all incarnations did together, and
// who is stalled. Method: pages written by hand, and one that two mappings of the same memory share.
#include <fcntl.h>
#include <gmock/gmock.h>

#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/stage_engine.hpp"
#include "runtime/telemetry/shared_page.hpp"
#include "runtime/telemetry/stage_accounts.hpp"
#include "runtime/telemetry/stall_watch.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(current_work, says_what_is_in_work_and_since_when) {
  current_work sign;
  EXPECT_FALSE(sign.working_on());
  sign.begin({1, 7}, 5ms);
  EXPECT_EQ(sign.working_on(), (micro_batch_id{1, 7}));
  EXPECT_EQ(sign.since(), nanoseconds(5ms));
  sign.end(2ms);
  EXPECT_FALSE(sign.working_on());
  EXPECT_FALSE(sign.since());
}

TEST(current_work, has_the_median_of_the_last_forwards) {
  current_work sign;
  for (std::uint64_t i = 0; i + 1 < limits::stall_forwards_min; ++i) sign.end(1ms);
  EXPECT_FALSE(sign.median()) << "too few to say";
  sign.end(900ms);
  EXPECT_EQ(sign.median(), nanoseconds(1ms)) << "one of them is no matter";
  for (std::size_t i = 0; i < limits::stall_forwards_kept; ++i) sign.end(3ms);
  EXPECT_EQ(sign.median(), nanoseconds(3ms)) << "the old ones are forgotten";
}

TEST(shared_page, is_one_page_for_everybody_who_has_the_memory) {
  auto made = shared_page::create();
  ASSERT_TRUE(made) << to_string(made.error());
  made->page()->counters.samples = 5;
  auto other = shared_page::adopt(unique_fd(::fcntl(made->memory().descriptor(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(other) << to_string(other.error());
  EXPECT_NE(other->page(), made->page());
  EXPECT_EQ(other->page()->counters.samples, 5u) << "adopting makes nothing anew";
  const auto bell = other->bell();
  const std::uint32_t before = made->bell()->epoch();
  bell->ring();
  EXPECT_NE(made->bell()->epoch(), before);
}

TEST(shared_page, takes_no_other_memory) {
  EXPECT_FALSE(shared_page::adopt(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC))));
  EXPECT_FALSE(shared_page::adopt(unique_fd()));
}

struct two_stages {
  stage_accounts accounts{{{"stage 0", {0, 0}}, {"stage 1", {1, 0}}}};
  std::shared_ptr<engine_page> add(stage_address at) {
    auto page = std::make_shared<engine_page>();
    accounts.add(at, page);
    return page;
  }
};

TEST(stage_accounts, add_up_what_all_incarnations_did) {
  two_stages run;
  run.add({0, 0})->counters.micro_batches = 3;
  run.accounts.end({0, 0});
  run.add({0, 0})->counters.micro_batches = 4;
  run.add({1, 0})->counters.busy_ns = 9;
  const auto usage = run.accounts.usage();
  ASSERT_EQ(usage.size(), 2u);
  EXPECT_EQ(usage[0].micro_batches, 7u);
  EXPECT_EQ(usage[1].busy_ns, 9u);
}

/// As often as those who look after a run do; what it finds is lost.
void look(stall_watch& watch, const stage_accounts& accounts, nanoseconds from, nanoseconds until) {
  for (nanoseconds now = from; now < until; now += limits::report_interval) {
    static_cast<void>(watch.longer_than(1h, accounts, now));
  }
}

TEST(stall_watch, tells_of_each_stall_once_and_not_of_the_dead) {
  two_stages run;
  const auto page = run.add({0, 0});
  run.add({1, 0});
  for (std::uint64_t i = 0; i < limits::stall_forwards_min; ++i) page->work.end(200ms);
  page->work.begin({0, 8}, 10s);
  stall_watch watch;
  EXPECT_TRUE(watch.new_stalls(run.accounts, 11s).empty()) << "five times the median";
  look(watch, run.accounts, 11s, 12s);
  const auto found = watch.new_stalls(run.accounts, 12s + 1ms);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].stage.name, "stage 0");
  EXPECT_EQ(found[0].working_on, (micro_batch_id{0, 8}));
  EXPECT_EQ(found[0].median, nanoseconds(200ms));
  look(watch, run.accounts, 12s, 13s);
  EXPECT_TRUE(watch.new_stalls(run.accounts, 13s).empty()) << "told";
  EXPECT_EQ(watch.longer_than(2s, run.accounts, 13s).size(), 1u);
  page->work.end(4s);
  page->work.begin({0, 9}, 14s);
  look(watch, run.accounts, 13s, 20s);
  EXPECT_EQ(watch.new_stalls(run.accounts, 20s).size(), 1u) << "another forward";
  run.accounts.end({0, 0});
  look(watch, run.accounts, 20s, 30s);
  EXPECT_TRUE(watch.longer_than(1s, run.accounts, 30s).empty());
}

TEST(stall_watch, does_not_call_a_fast_stage_stalled_for_a_hiccup) {
  two_stages run;
  const auto page = run.add({0, 0});
  for (std::uint64_t i = 0; i < limits::stall_forwards_min; ++i) page->work.end(20us);
  page->work.begin({0, 8}, 10s);
  stall_watch watch;
  EXPECT_TRUE(watch.new_stalls(run.accounts, 10s + 900ms).empty());
  EXPECT_EQ(watch.new_stalls(run.accounts, 11s).size(), 1u);
}

TEST(stall_watch, makes_sense_of_whatever_another_process_wrote) {
  two_stages run;
  const auto page = run.add({0, 0});
  for (std::uint64_t i = 0; i < limits::stall_forwards_min; ++i) page->work.end(1ms);
  page->work.begin({77, 78}, nanoseconds::min());
  stall_watch watch;
  const auto found = watch.new_stalls(run.accounts, 1h);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].since, nanoseconds(1h)) << "no longer than the machine runs";
  for (std::size_t i = 0; i < limits::stall_forwards_kept; ++i) page->work.end(nanoseconds::max());
  page->work.begin({0, 9}, 1h);
  EXPECT_TRUE(watch.new_stalls(run.accounts, 2h).empty()) << "the median is long, and not beyond all numbers";
}

struct looking_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation&) override {
    seen = page->work.working_on();
    return fail(error_code::forward_failed, "stage", "on purpose");
  }
  std::shared_ptr<const engine_page> page;
  std::optional<micro_batch_id> seen;
};

TEST(stage_engine_page, is_written_before_the_forward_that_may_be_the_last) {
  auto body = std::make_shared<looking_body>();
  auto page = std::make_shared<engine_page>();
  stage_engine engine{{.name = "stage 0", .address = {}, .sinks = {}, .shared_page = page}, body};
  body->page = engine.page();
  EXPECT_EQ(engine.page(), page);
  EXPECT_EQ(&engine.counters(), &page->counters);
  edge_ends inbound = inproc_edge_factory{}.make({.slots = 1, .producer_bell = nullptr, .consumer_bell = nullptr});
  engine.add_inbound(std::move(inbound.consumer));
  activation message;
  message.id = {2, 5};
  message.samples = {0, 1};
  ASSERT_EQ(inbound.producer->try_send(message), send_status::sent);
  for (int steps = 0; steps < 4; ++steps) static_cast<void>(engine.step());
  EXPECT_EQ(body->seen, (micro_batch_id{2, 5}));
  EXPECT_FALSE(page->work.working_on());
}

}  // namespace
}  // namespace troupe
