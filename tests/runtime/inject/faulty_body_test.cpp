// Goal: a stage injects into itself what it was told, once, and before the forward. Method: a body that counts, and
// acts that note what would end the process.
#include "runtime/inject/faulty_body.hpp"

#include <array>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

namespace troupe {
namespace {

using ::testing::ElementsAre;

class counting_body final : public stage_body {
 public:
  explicit counting_body(int& runs) : runs_(runs) {}
  [[nodiscard]] expected<void> run(std::span<const activation>, std::span<activation>) override {
    ++runs_;
    return {};
  }

 private:
  int& runs_;
};

class faulty_body_test : public ::testing::Test {
 protected:
  faulty_body make(const std::vector<std::string>& texts, std::uint64_t lot = 0) {
    std::vector<numbered_fault> faults;
    for (const std::string& each : texts) faults.push_back({faults.size(), *parse_fault(each)});
    return {std::make_shared<counting_body>(runs),
            body_faults{std::move(faults),
                        lot,
                        [this](std::size_t number, bool once, micro_batch_id at) {
                          if (once && !spent.insert(number).second) return false;
                          injected.emplace_back(number, at.index);
                          return true;
                        },
                        {.kill = [this] { acts.emplace_back("kill"); },
                         .freeze =
                             [this](std::optional<std::chrono::nanoseconds> lasts) {
                               acts.push_back("freeze " + std::to_string(lasts ? lasts->count() : 0));
                             },
                         .leave = [this] { acts.emplace_back("leave"); }}}};
  }

  void forward(faulty_body& body, std::uint64_t index) {
    activation input;
    input.id = {0, index};
    std::array<activation, 1> outputs;
    ASSERT_TRUE(body.run({&input, 1}, outputs));
  }

  int runs = 0;
  std::set<std::size_t> spent;
  std::vector<std::pair<std::size_t, std::uint64_t>> injected;
  std::vector<std::string> acts;
};

TEST_F(faulty_body_test, ends_and_freezes_its_process_at_its_micro_batch) {
  faulty_body body = make({"kill:stage=a,at=mb1", "exit:stage=a,at=mb2", "stop:stage=a,at=mb3,for=2s"});
  for (std::uint64_t index = 0; index < 5; ++index) forward(body, index);
  EXPECT_THAT(acts, ElementsAre("kill", "leave", "freeze 2000000000"));
  EXPECT_THAT(injected, ElementsAre(std::pair(0, 1), std::pair(1, 2), std::pair(2, 3)));
  EXPECT_EQ(runs, 5);
}

TEST_F(faulty_body_test, throws_before_the_forward_and_not_at_the_second_attempt) {
  faulty_body body = make({"throw:stage=a,at=mb1", "out_of_memory:stage=a,at=mb2"});
  forward(body, 0);
  EXPECT_THROW(forward(body, 1), std::runtime_error);
  forward(body, 1);
  EXPECT_THROW(forward(body, 2), std::bad_alloc);
  forward(body, 2);
  EXPECT_EQ(runs, 3);
  faulty_body always = make({"throw:stage=a,p=1"});
  EXPECT_THROW(forward(always, 3), std::runtime_error);
  forward(always, 3);
  EXPECT_EQ(runs, 4);
}

TEST_F(faulty_body_test, injects_once_also_when_the_micro_batch_comes_again) {
  faulty_body body = make({"kill:stage=a,at=mb1"});
  for (const std::uint64_t index : {0, 1, 2, 0, 1, 2}) forward(body, index);
  EXPECT_EQ(acts.size(), 1u);
}

TEST_F(faulty_body_test, is_slow_always_where_nothing_says_when) {
  faulty_body body = make({"slow:stage=a,ms=0.01,jitter=0.01"});
  for (std::uint64_t index = 0; index < 4; ++index) forward(body, index);
  EXPECT_EQ(injected.size(), 4u);
}

TEST_F(faulty_body_test, draws_lots_with_a_seed_and_anew_for_each_incarnation) {
  const auto drawn = [this](const std::string& text, std::uint64_t lot) {
    injected.clear();
    faulty_body body = make({text}, lot);
    for (std::uint64_t index = 0; index < 1000; ++index) forward(body, index);
    return injected;
  };
  const auto first = drawn("kill:stage=a,p=0.2,seed=5", 0);
  EXPECT_GT(first.size(), 140u);
  EXPECT_LT(first.size(), 260u);
  EXPECT_EQ(drawn("kill:stage=a,p=0.2,seed=5", 0), first);
  EXPECT_NE(drawn("kill:stage=a,p=0.2,seed=6", 0), first);
  EXPECT_NE(drawn("kill:stage=a,p=0.2,seed=5", std::uint64_t{1} << 32U), first);
  EXPECT_EQ(drawn("kill:stage=a,p=1", 0).size(), 1000u);
}

}  // namespace
}  // namespace troupe
