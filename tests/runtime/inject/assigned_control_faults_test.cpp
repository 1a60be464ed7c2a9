// Goal: on a node without the driver, control messages of a worker suffer the faults that its assignment brings, once
// where they happen once, and its page says so. Method: a link with the agent's end under them.
#include "runtime/inject/assigned_control_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../link/link_support.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

/// A worker of the node, and the agent's end of its link.
class node_worker {
 public:
  explicit node_worker(assigned_control_faults& faults) : page(std::move(*shared_page::create())) {
    loop_ = std::move(*link_loop::create({std::chrono::seconds{20}}));
    auto sockets = std::move(*make_link_sockets());
    agent = faults.wrap(loop_->open(std::move(sockets.first), link_side::driver), page.page());
    worker = loop_->open(std::move(sockets.second), link_side::worker);
    agent->start(agent_news_.events());
    worker->start(news_.events());
  }
  ~node_worker() {
    agent->close();
    worker->close();
  }
  void assign(const std::vector<std::string>& faults) {
    worker_assignment made{.address = {1, 0}, .incarnation = 0, .boundaries = {}, .faults = {}};
    for (const std::string& each : faults)
      made.faults.push_back({static_cast<std::uint32_t>(made.faults.size()), each});
    agent->send(*codec::encode(made));
  }
  /// Sends messages with the calls 1 to `count`. Returns the calls of those that arrive, up to the last one.
  std::vector<call_number> hear_calls(call_number count) {
    for (call_number i = 1; i <= count; ++i) agent->send(*codec::encode(release_call{i}));
    std::vector<call_number> found;
    while (found.empty() || found.back() != count) {
      const auto next = news_.next();
      if (!next) return found;
      if (const auto read = codec::decode<release_call>(*next)) found.push_back(read->call);
    }
    return found;
  }
  std::uint64_t marks() const { return page.page()->faults.load(); }

 private:
  noted_news agent_news_;
  noted_news news_;
  /// Its thread tells the news: it ends before they do.
  std::unique_ptr<link_loop> loop_;

 public:
  shared_page page;
  std::shared_ptr<message_link> agent;
  std::shared_ptr<message_link> worker;
};

TEST(assigned_control_faults, hit_messages_behind_the_assignment_and_mark_the_page) {
  const auto faults = *assigned_control_faults::start();
  node_worker one(*faults);
  EXPECT_THAT(one.hear_calls(2), ElementsAre(1, 2)) << "before its assignment";
  one.assign({"drop:edge=a-b,at=msg2", "drop:control=driver-b,at=msg3", "duplicate:control=driver-b,at=msg9"});
  EXPECT_THAT(one.hear_calls(3), ElementsAre(1, 3));
  EXPECT_EQ(one.marks(), 0b010U);
}

TEST(assigned_control_faults, count_messages_of_all_workers_of_the_stage) {
  const auto faults = *assigned_control_faults::start();
  const std::vector<std::string> plan{"duplicate:control=driver-b,at=msg5"};
  node_worker first(*faults);
  first.assign(plan);
  EXPECT_THAT(first.hear_calls(2), ElementsAre(1, 2));
  node_worker second(*faults);
  second.assign(plan);
  EXPECT_THAT(second.hear_calls(2), ElementsAre(1, 1, 2));
  EXPECT_EQ(first.marks(), 0U);
  EXPECT_EQ(second.marks(), 1U);
}

TEST(assigned_control_faults, wait_for_the_time_of_the_run_that_the_worker_is_told) {
  const auto faults = *assigned_control_faults::start();
  node_worker one(*faults);
  one.assign({"drop:control=driver-b,at=1s,for=1s"});
  EXPECT_THAT(one.hear_calls(2), ElementsAre(1, 2)) << "the run has not begun";
  one.agent->send(*codec::encode(run_begun{.age_ns = 5'000'000'000}));
  EXPECT_THAT(one.hear_calls(2), ElementsAre(1, 2)) << "its time is over";
  EXPECT_EQ(one.marks(), 0U);

  const auto others = *assigned_control_faults::start();
  node_worker two(*others);
  two.assign({"duplicate:control=driver-b,at=1s,for=600s"});
  two.agent->send(*codec::encode(run_begun{.age_ns = ~std::uint64_t{0}}));  // the worker refuses it
  two.agent->send(*codec::encode(run_begun{.age_ns = 5'000'000'000}));
  EXPECT_THAT(two.hear_calls(2), ElementsAre(1, 1, 2));
  EXPECT_EQ(two.marks(), 1U);
}

TEST(assigned_control_faults, what_cannot_be_read_is_left_to_the_worker) {
  const auto faults = *assigned_control_faults::start();
  node_worker one(*faults);
  one.assign({"nonsense", "drop:control=driver-b,at=msg0"});
  EXPECT_THAT(one.hear_calls(2), ElementsAre(1, 2));
}

}  // namespace
}  // namespace troupe::testing
