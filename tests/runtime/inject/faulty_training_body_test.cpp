// Goal: a stage that trains injects into itself what it was told, once, in the phase and step that the fault names.
// Method: a body without tensors that counts steps, and acts that note what would end the process.
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/inject/faulty_body.hpp"

namespace troupe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

/// Notes what it does, in a list that acts of faults write to as well.
/// What was called, in order. Another thread injects a fault that falls within a pass.
class note_list {
 public:
  void add(std::string note) {
    const std::lock_guard lock(mutex_);
    notes_.push_back(std::move(note));
  }
  /// Gives them, and begins anew.
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

class noting_body final : public training_body {
 public:
  explicit noting_body(note_list& notes) : notes_(notes) {}

  [[nodiscard]] std::uint64_t steps() const noexcept override { return steps_; }
  [[nodiscard]] expected<void> forward(const activation& input, activation&) override {
    notes_.add("forward " + std::to_string(input.id.index));
    return {};
  }
  [[nodiscard]] expected<void> evaluate(const activation&, activation&) override {
    notes_.add("evaluate");
    return {};
  }
  [[nodiscard]] expected<payload_ptr> backward(micro_batch_id id, const payload_ptr&) override {
    notes_.add("backward " + std::to_string(id.index));
    return payload_ptr();
  }
  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override { return payload_ptr(); }
  [[nodiscard]] expected<void> finish(call_number, std::span<const payload_ptr>, std::span<const payload_ptr>,
                                      step_vote&) override {
    notes_.add("finish");
    return {};
  }
  [[nodiscard]] expected<void> apply(const step_decision&) override {
    notes_.add("apply");
    ++steps_;
    return {};
  }
  void drop() noexcept override { notes_.add("drop"); }

 private:
  note_list& notes_;
  std::uint64_t steps_ = 0;
};

class faulty_training_body_test : public ::testing::Test {
 protected:
  std::shared_ptr<training_body> make(const std::vector<std::string>& texts, std::uint64_t lot = 0) {
    std::vector<numbered_fault> faults;
    for (const std::string& each : texts) faults.push_back({faults.size(), *parse_fault(each)});
    body_faults made{std::move(faults),
                     lot,
                     [this](std::size_t number, bool once, micro_batch_id) {
                       const std::lock_guard lock(mutex_);
                       return !once || spent_.insert(number).second;
                     },
                     {.kill = [this] { notes.add("kill"); },
                      .freeze = [this](std::optional<std::chrono::nanoseconds>) { notes.add("freeze"); },
                      .leave = [this] { notes.add("leave"); }}};
    return std::make_shared<faulty_training_body>(std::make_shared<noting_body>(notes), std::move(made));
  }

  static activation input_of(call_number call, std::uint64_t index) {
    activation input;
    input.id = {call, index};
    return input;
  }
  static void pass(training_body& body, call_number call) {
    activation output;
    ASSERT_TRUE(body.forward(input_of(call, 0), output));
    ASSERT_TRUE(body.backward({call, 0}, nullptr));
  }
  static void step(training_body& body, call_number call) {
    step_vote vote;
    pass(body, call);
    ASSERT_TRUE(body.finish(call, {}, {}, vote));
    ASSERT_TRUE(body.apply({.call = call, .step = body.steps()}));
  }

  note_list notes;

 private:
  std::mutex mutex_;
  std::set<std::size_t> spent_;
};

TEST_F(faulty_training_body_test, hits_the_phase_and_step_that_are_named) {
  const auto body = make({"kill:stage=a,at=mb0,step=1", "stop:stage=a,at=backward0,step=1",
                          "exit:stage=a,at=vote,step=1", "kill:stage=a,at=decision,step=1"});
  step(*body, 5);
  EXPECT_THAT(notes.take(), ElementsAre("forward 0", "backward 0", "finish", "apply"));
  step(*body, 7);
  EXPECT_THAT(notes.take(),
              ElementsAre("kill", "forward 0", "freeze", "backward 0", "finish", "leave", "kill", "apply"));
  step(*body, 8);
  EXPECT_THAT(notes.take(), ElementsAre("forward 0", "backward 0", "finish", "apply"));
}

TEST_F(faulty_training_body_test, hits_the_first_step_where_none_is_named) {
  const auto body = make({"kill:stage=a,at=backward0", "kill:stage=a,at=backward1"});
  step(*body, 0);
  step(*body, 1);
  EXPECT_THAT(notes.take(), ElementsAre("forward 0", "kill", "backward 0", "finish", "apply", "forward 0", "backward 0",
                                        "finish", "apply"));
}

TEST_F(faulty_training_body_test, throws_in_a_backward_pass) {
  const auto body = make({"throw:stage=a,at=backward0"});
  activation output;
  ASSERT_TRUE(body->forward(input_of(0, 0), output));
  EXPECT_THROW(static_cast<void>(body->backward({0, 0}, nullptr)), std::runtime_error);
}

TEST_F(faulty_training_body_test, does_not_take_an_evaluation_for_a_step) {
  const auto body = make({"kill:stage=a,at=mb0,step=0", "stop:stage=a,at=mb1"});
  activation output;
  ASSERT_TRUE(body->evaluate(input_of(0, 0), output));
  EXPECT_THAT(notes.take(), ElementsAre("evaluate"));
  ASSERT_TRUE(body->evaluate(input_of(0, 1), output));
  EXPECT_THAT(notes.take(), ElementsAre("freeze", "evaluate"));
}

TEST_F(faulty_training_body_test, hits_while_a_decision_is_carried_out) {
  const auto body = make({"kill:stage=a,at=apply,step=2"});
  for (call_number call = 0; call < 2; ++call) step(*body, call);
  EXPECT_THAT(notes.take(), Not(Contains("kill")));
  step(*body, 2);  // on another thread, within apply() or at its end
  EXPECT_THAT(notes.take(), UnorderedElementsAre("forward 0", "backward 0", "finish", "kill", "apply"));
}

TEST_F(faulty_training_body_test, hits_a_stage_that_begins_a_step_anew) {
  const auto body = make({"kill:stage=a,at=recovery"});
  body->on_start();
  body->drop();  // the first edges
  step(*body, 0);
  body->drop();  // between two steps
  static_cast<void>(notes.take());
  pass(*body, 1);
  body->drop();
  EXPECT_THAT(notes.take(), ElementsAre("forward 0", "backward 0", "kill", "drop"));
}

TEST_F(faulty_training_body_test, hits_a_worker_that_replaces_another) {
  constexpr std::uint64_t second_incarnation = std::uint64_t{1} << 32U;
  const auto first = make({"kill:stage=a,at=recovery"});
  first->on_start();
  EXPECT_THAT(notes.take(), IsEmpty());
  const auto second = make({"kill:stage=a,at=recovery"}, second_incarnation);
  second->on_start();
  EXPECT_THAT(notes.take(), ElementsAre("kill"));
}

}  // namespace
}  // namespace troupe
