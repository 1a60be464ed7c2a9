// Goal: each fault reaches who it names, once in a run, and its price is booked on it. Method: workers that are none,
// with pages as real ones have.
#include "runtime/inject/fault_injector.hpp"

#include <csignal>
#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/socket.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class pretended_worker final : public hosted_worker {
 public:
  explicit pretended_worker(std::uint32_t rank, const std::string& node = {})
      : hosted_worker("worker", rank, nullptr, {.node = node, .address = {}}),
        page_(std::move(*shared_page::create())) {}

  [[nodiscard]] std::string place() const override { return "nowhere"; }
  [[nodiscard]] std::optional<std::uint32_t> pid() const override { return std::nullopt; }
  void send(codec::bytes message) override { sent.push_back(std::move(message)); }
  [[nodiscard]] expected<void> hand_over(const std::string&, std::span<const blob>) override { return {}; }
  [[nodiscard]] stage_telemetry telemetry() const override { return page_.page()->telemetry(); }
  [[nodiscard]] std::optional<blob> page() const override { return page_.memory(); }
  [[nodiscard]] bool signal(int number) override {
    signals.push_back(number);
    if (number == last_signal) got_last.set_value();
    return true;
  }

  /// As the body of its stage does.
  bool inject(std::size_t fault, micro_batch_id at = {}) {
    page_.page()->first_hits.at(fault).set(at);
    const std::uint64_t bit = std::uint64_t{1} << fault;
    return (page_.page()->faults.fetch_or(bit) & bit) == 0;
  }

  std::vector<codec::bytes> sent;
  std::vector<int> signals;
  int last_signal = 0;
  std::promise<void> got_last;

 private:
  void end_now() override {}
  const shared_page page_;
};

std::shared_ptr<pretended_worker> make_worker(std::uint32_t rank, const std::string& node = {}) {
  return std::make_shared<pretended_worker>(rank, node);
}

class no_fold final : public call_fold {
 public:
  [[nodiscard]] expected<void> fold(const score&) override { return {}; }
};

class endless_source final : public micro_batch_source {
 public:
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override { return loaded_micro_batch{}; }
};

/// A link whose other end is the test.
class played_link final : public message_link {
 public:
  void start(link_events above) override { events = std::move(above); }
  void send(codec::bytes) override {}
  [[nodiscard]] std::size_t queued_bytes() const override { return 0; }
  void peer_has_ended(std::function<void()> done) override { done(); }
  void close() override {}

  link_events events;
};

std::shared_ptr<fault_injector> injector(const std::vector<std::string>& texts, log_function log = nullptr,
                                         std::chrono::milliseconds patience = limits::fault_target_patience) {
  fault_plan plan;
  for (const std::string& each : texts) plan.add(each);
  const fault_shape shape{
      .stages = {{.name = "net 0", .in_process = true}, {.name = "net 1", .replicas = 2, .in_process = true}},
      .edges = {{"net 0", "net 1"}},
      .workers = 10,
      .has_journal = true,
      .places = {{.name = "w0", .has_driver = true}, {.name = "w1"}, {.name = "w2"}}};
  EXPECT_TRUE(check_fits(plan, shape)) << to_string(check_fits(plan, shape).error());
  return *fault_injector::start(std::move(plan), shape, std::move(log), patience);
}

std::vector<std::uint32_t> numbers(const std::vector<assigned_fault>& faults) {
  std::vector<std::uint32_t> made;
  for (const assigned_fault& each : faults) made.push_back(each.number);
  return made;
}

TEST(fault_injector, assigns_to_each_worker_what_is_its_own) {
  const auto faults = injector({"kill:stage=net.1,at=mb3", "kill:stage=net.1,replica=1,at=mb4", "exit:worker=7,at=mb5",
                                "delay:edge=net.0-net.1,ms=1", "drop:control=driver-0,at=msg1", "kill:loader,at=mb1",
                                "stop:stage=net.0,at=1s"});
  EXPECT_THAT(numbers(faults->assign({0, 0}, make_worker(0))), ElementsAre(3, 4));
  EXPECT_THAT(numbers(faults->assign({1, 0}, make_worker(1))), ElementsAre(0, 3));
  EXPECT_THAT(numbers(faults->assign({1, 1}, make_worker(7))), ElementsAre(0, 1, 2, 3));
}

TEST(fault_injector, tells_the_start_of_the_run_to_who_injects_at_times) {
  const auto faults = injector({"delay:edge=net.0-net.1,ms=1,at=1s", "drop:edge=net.0-net.1,at=msg1"});
  const auto before = make_worker(0);
  static_cast<void>(faults->assign({1, 0}, before));
  EXPECT_THAT(before->sent, IsEmpty());
  const auto source = faults->wrap(std::make_shared<endless_source>(), 0);
  const auto begun = std::chrono::steady_clock::now();
  static_cast<void>(source->next());
  static_cast<void>(source->next());
  ASSERT_THAT(before->sent, SizeIs(1));
  EXPECT_TRUE(codec::decode<run_begun>(before->sent[0]));
  while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds{1}) continue;
  const auto later = make_worker(1);
  static_cast<void>(faults->assign({1, 1}, later));
  ASSERT_THAT(later->sent, SizeIs(1));
  EXPECT_GT(codec::decode<run_begun>(later->sent[0])->age_ns, 100'000u) << "not from its own start on";

  const auto of_control = injector({"delay:control=driver-net.1,ms=1,at=1s"});
  const auto on_its_node = make_worker(0);
  static_cast<void>(of_control->assign({1, 0}, on_its_node));
  static_cast<void>(of_control->wrap(std::make_shared<endless_source>(), 0)->next());
  EXPECT_THAT(on_its_node->sent, SizeIs(1)) << "its agent reads it on the way";

  const auto without_times = injector({"delay:edge=net.0-net.1,ms=1", "stop:stage=net.0,at=9999s"});
  static_cast<void>(without_times->wrap(std::make_shared<endless_source>(), 0)->next());
  const auto other = make_worker(2);
  static_cast<void>(without_times->assign({1, 0}, other));
  EXPECT_THAT(other->sent, IsEmpty());
}

/// Late messages arrive while a run ends: what they reach may be the last to know the injector.
TEST(fault_injector, may_be_let_go_by_a_late_message) {
  std::promise<void> gone;
  const auto tell_end = [&gone](void*) { gone.set_value(); };
  std::shared_ptr<fault_injector> faults;
  faults = injector({"delay:control=driver-0,ms=1", "duplicate:control=driver-0,at=msg3"},
                    [&faults, end = std::shared_ptr<void>(&gone, tell_end)](const log_record& said) {
                      if (said.text.find("duplicate") != std::string::npos) faults.reset();
                    });
  const auto worker = std::make_shared<played_link>();
  const auto link = faults->around_links()(worker, nullptr);
  const auto answer = [weak = std::weak_ptr(link)](const codec::bytes& heard) {
    if (const auto still = weak.lock()) still->send(heard);
  };
  link->start({.on_message = answer, .on_lost = {}});
  link->send(*codec::encode(worker_assignment{.address = {0, 0}, .incarnation = 0, .boundaries = {}, .faults = {}}));
  worker->events.on_message(*codec::encode(call_opened{0}));
  gone.get_future().wait();
}

TEST(fault_injector, what_is_spent_is_neither_assigned_again_nor_injected_by_another_replica) {
  const auto faults = injector({"kill:stage=net.1,at=mb3", "slow:stage=net.1,ms=1,p=0.5"});
  const auto first = make_worker(0);
  const auto other = make_worker(1);
  static_cast<void>(faults->assign({1, 0}, first));
  static_cast<void>(faults->assign({1, 1}, other));
  ASSERT_TRUE(first->inject(0));
  ASSERT_TRUE(first->inject(1, {0, 5}));
  faults->look();
  EXPECT_FALSE(other->inject(0));
  EXPECT_TRUE(other->inject(1));
  EXPECT_THAT(numbers(faults->assign({1, 0}, make_worker(2))), ElementsAre(1));
  const auto entries = faults->record().entries();
  EXPECT_EQ(entries[0].times, 1u);
  EXPECT_EQ(entries[0].micro_batch, (micro_batch_id{0, 3}));
  EXPECT_EQ(entries[1].times, 2u);
  EXPECT_EQ(entries[1].micro_batch, (micro_batch_id{0, 5})) << "as the page says, not what is worked on";
}

TEST(fault_injector, counts_the_messages_of_an_edge_in_its_first_replica_alone) {
  const auto faults = injector(
      {"corrupt:edge=net.0-net.1,at=msg4", "drop:edge=net.0-net.1,p=0.1", "delay:edge=net.0-net.1,at=1s,ms=1"});
  EXPECT_THAT(numbers(faults->assign({1, 0}, make_worker(0))), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(faults->assign({1, 1}, make_worker(1))), ElementsAre(1, 2));
}

TEST(fault_injector, books_the_price_on_the_fault_that_caused_the_loss) {
  const auto faults =
      injector({"kill:stage=net.0,at=mb3", "exit:stage=net.1,at=mb3", "kill:loader,at=mb0", "kill:worker=9,at=mb8"});
  faults->act_by({.end_actor = [](fault_target_kind) {}, .end_driver = [] {}});
  const auto dying = make_worker(0);
  static_cast<void>(faults->assign({0, 0}, dying));
  static_cast<void>(dying->inject(0));
  static_cast<void>(faults->assign({0, 0}, make_worker(9)));
  faults->recovered({.stage = stage_address{0, 0}, .rank = 0, .took = 500ms, .sent_again = 7, .dropped_so_far = 1});
  static_cast<void>((*faults->wrap(std::make_shared<endless_source>(), 0)).next());
  faults->recovered({.stage = std::nullopt, .took = 250ms, .sent_again = 3, .dropped_so_far = 5});
  const auto later = make_worker(1);
  static_cast<void>(faults->assign({1, 0}, later));
  static_cast<void>(later->inject(1));
  static_cast<void>(faults->assign({1, 0}, make_worker(2)));
  faults->recovered({.stage = stage_address{1, 0}, .rank = 1, .took = 125ms, .sent_again = 1, .dropped_so_far = 8});
  faults->recovered({.stage = stage_address{1, 0}, .rank = 1, .took = 125ms, .sent_again = 1, .dropped_so_far = 10});
  faults->dropped(15);
  const auto entries = faults->record().entries();
  EXPECT_EQ(entries[0].recovery_time, 500ms);
  EXPECT_EQ(entries[0].replayed, 7u);
  EXPECT_EQ(entries[0].duplicates_dropped, 4u) << "from its recovery to the next";
  EXPECT_EQ(entries[2].duplicates_dropped, 3u);
  EXPECT_EQ(entries[1].duplicates_dropped, 2u + 5u);
  EXPECT_EQ(entries[2].recovery_time, 250ms);
  EXPECT_EQ(entries[1].recovery_time, 250ms) << "the second loss, too, is no other fault's";
  EXPECT_EQ(entries[3].times, 0u);
  EXPECT_FALSE(entries[3].recovery_time);
}

TEST(fault_injector, books_a_loss_on_a_slow_forward_where_nothing_else_is_to_blame) {
  const auto faults = injector({"slow:stage=net.0,at=mb3,ms=20000", "kill:stage=net.0,at=mb9"});
  const auto slow = make_worker(0);
  static_cast<void>(faults->assign({0, 0}, slow));
  static_cast<void>(slow->inject(0));
  const auto killed = make_worker(1);
  static_cast<void>(faults->assign({0, 0}, killed));
  faults->recovered({.stage = stage_address{0, 0}, .rank = 0, .took = 2500ms, .sent_again = 7, .dropped_so_far = 0});
  static_cast<void>(killed->inject(1));
  static_cast<void>(faults->assign({0, 0}, make_worker(2)));
  faults->recovered({.stage = stage_address{0, 0}, .rank = 1, .took = 500ms, .sent_again = 3, .dropped_so_far = 0});
  const auto entries = faults->record().entries();
  EXPECT_EQ(entries[0].recovery_time, 2500ms);
  EXPECT_EQ(entries[0].replayed, 7u);
  EXPECT_EQ(entries[1].recovery_time, 500ms);
}

TEST(fault_injector, ends_actors_driver_and_disk_at_their_micro_batches) {
  const auto faults = injector(
      {"kill:loader,at=mb1", "kill:aggregator,at=mb2", "kill:driver,at=mb3", "disk_full:journal,at=mb2,bytes=3"});
  std::vector<std::string> ended;
  faults->act_by({.end_actor = [&](fault_target_kind which) { ended.emplace_back(fault_target_name(which)); },
                  .end_driver = [&] { ended.emplace_back("driver"); }});
  const auto source = faults->wrap(std::make_shared<endless_source>(), 0);
  static_cast<void>(source->next());
  EXPECT_THAT(ended, IsEmpty());
  static_cast<void>(source->next());
  EXPECT_THAT(ended, ElementsAre("loader"));

  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const unique_fd here(ends[0]);
  const unique_fd there(ends[1]);
  EXPECT_EQ(faults->disk()->write(here.get(), "abcde", 5), 5);
  const auto fold = faults->wrap(std::make_shared<no_fold>());
  for (std::uint64_t index = 0; index < 4; ++index) {
    score next;
    next.id = {0, index};
    ASSERT_TRUE(fold->fold(next));
    if (index == 2) {
      EXPECT_THAT(ended, ElementsAre("loader", "aggregator"));
    }
  }
  EXPECT_THAT(ended, ElementsAre("loader", "aggregator", "driver"));
  EXPECT_EQ(faults->disk()->write(here.get(), "abcde", 5), 3);
  EXPECT_EQ(faults->disk()->write(here.get(), "de", 2), -1);
  EXPECT_EQ(errno, ENOSPC);
}

TEST(fault_injector, hurts_nodes_at_their_moments_unless_they_are_lost) {
  const auto faults = injector({"kill:node=w1,at=mb1", "stop:agent=w2,at=mb1,for=1s", "partition:node=w1,at=mb0,for=1s",
                                "partition:agent=w2,at=0s,for=2s"});
  std::vector<std::string> hurt;
  std::promise<void> timed;
  faults->act_by({.end_actor = [](fault_target_kind) {},
                  .end_driver = [] {},
                  .hurt_node =
                      [&](const fault& what) {
                        if (what.when.kind == fault_trigger_kind::time) {
                          timed.set_value();
                          return true;
                        }
                        hurt.push_back(to_string(what));
                        return what.who.name != "w2";
                      }});
  static_cast<void>(faults->wrap(std::make_shared<endless_source>(), 0)->next());
  timed.get_future().wait();
  const auto fold = faults->wrap(std::make_shared<no_fold>());
  for (const std::uint64_t index : {0, 1, 1}) {
    score next;
    next.id = {0, index};
    ASSERT_TRUE(fold->fold(next));
  }
  faults->stop();
  EXPECT_THAT(hurt, ElementsAre("partition:node=w1,at=mb0,for=1s", "stop:agent=w2,at=mb1,for=1s", "kill:node=w1,at=mb1",
                                "stop:agent=w2,at=mb1,for=1s"));
  const auto entries = faults->record().entries();
  EXPECT_EQ(entries[0].micro_batch, (micro_batch_id{0, 1}));
  EXPECT_EQ(entries[1].times, 0u);
  EXPECT_EQ(entries[1].note, "not injected: node lost");
  EXPECT_EQ(entries[2].times + entries[3].times, 2u);
}

TEST(fault_injector, books_the_loss_of_stages_on_the_fault_of_their_node) {
  const auto faults = injector({"kill:node=w2,at=mb0", "stop:node=w1,at=mb0,for=0s", "kill:node=w1,at=mb0"});
  faults->act_by(
      {.end_actor = [](fault_target_kind) {}, .end_driver = [] {}, .hurt_node = [](const fault&) { return true; }});
  static_cast<void>(faults->assign({0, 0}, make_worker(0, "w1")));
  static_cast<void>(faults->wrap(std::make_shared<endless_source>(), 0)->next());
  static_cast<void>(faults->wrap(std::make_shared<no_fold>())->fold({}));
  static_cast<void>(faults->assign({0, 0}, make_worker(1, "w2")));
  faults->recovered({.stage = stage_address{0, 0}, .rank = 0, .took = 0ms, .sent_again = 7});
  const auto entries = faults->record().entries();
  EXPECT_FALSE(entries[0].recovery_time || entries[1].recovery_time);
  EXPECT_EQ(entries[2].recovery_time, 0ms);
  EXPECT_EQ(entries[2].replayed, 7u);
}

TEST(fault_injector, only_workers_of_a_node_learn_of_its_partition) {
  const auto faults = injector({"partition:node=w1,at=1s,for=1s", "kill:node=w1,at=1s"});
  EXPECT_THAT(numbers(faults->assign({0, 0}, make_worker(0, "w0"))), IsEmpty());
  EXPECT_THAT(numbers(faults->assign({0, 0}, make_worker(1, "w1"))), ElementsAre(0));
}

TEST(fault_injector, signals_processes_at_a_time) {
  const auto faults = injector({"stop:worker=2,at=0s,for=0.001s", "kill:stage=net.1,replica=1,at=0.001s"});
  const auto frozen = make_worker(2);
  const auto killed = make_worker(3);
  frozen->last_signal = SIGCONT;
  killed->last_signal = SIGKILL;
  faults->started(frozen);
  const auto source = faults->wrap(std::make_shared<endless_source>(), 0);
  static_cast<void>(source->next());  // the time begins; no worker is that stage yet
  frozen->got_last.get_future().wait();
  static_cast<void>(faults->assign({1, 1}, killed));
  killed->got_last.get_future().wait();
  faults->stop();
  EXPECT_THAT(frozen->signals, ElementsAre(SIGSTOP, SIGCONT));
  EXPECT_THAT(killed->signals, ElementsAre(SIGKILL));
}

TEST(fault_injector, gives_up_on_a_process_that_does_not_come) {
  std::promise<std::string> told;
  const auto faults = injector(
      {"kill:stage=net.0,at=0s"}, [&](const log_record& said) { told.set_value(said.text); },
      std::chrono::milliseconds{20});
  static_cast<void>((*faults->wrap(std::make_shared<endless_source>(), 0)).next());
  EXPECT_THAT(told.get_future().get(), ::testing::HasSubstr("not injected: target gone"));
  faults->stop();
  const auto late = make_worker(0);
  static_cast<void>(faults->assign({0, 0}, late));
  EXPECT_THAT(late->signals, IsEmpty());
  EXPECT_EQ(faults->record().entries()[0].times, 0u);
  EXPECT_EQ(faults->record().entries()[0].note, "not injected: target gone");
}

}  // namespace
}  // namespace troupe
