#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages/seeded_draw.hpp"
#include "runtime/optimizer/trained_parameters.hpp"
#include "runtime/os/shared_memory.hpp"
#include "tests/support/formula_tensors.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t steps = 5;

const named_tensors& weights() {
  static const named_tensors made = {{"large", testing::formula_uniform("large", {70000})},
                                     {"small", testing::formula_uniform("small", {7})}};
  return made;
}
named_tensors running_mean() {
  return {{"running_mean", at::zeros({1000})}};
}
parameter_layout layout() {
  return parameter_layout::make(weights(), running_mean(), {.kind = optimizer_kind::adam}).value();
}

void finish_step(trained_parameters& of, std::uint64_t step) {
  const auto number = static_cast<double>(step + 1);
  of.add_gradient(0, {}, std::vector<at::Tensor>{at::full({70000}, number), at::full({7}, -number)});
  step_vote vote;
  ASSERT_TRUE(of.finish(step, {}, {}, std::vector<at::Tensor>{at::full({1000}, number)}, vote));
}

step_decision decision_of(std::uint64_t step) {
  return {.call = step, .step = step, .gradient_scale = 0.5, .learning_rate = 0.01};
}

using bytes_of_version = std::string;

bytes_of_version bytes_of(const trained_parameters& of) {
  bytes_of_version all;
  const auto add = [&](const at::Tensor& tensor) {
    all.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
  };
  for (const std::size_t each : {0, 1}) {
    add(of.weight(each));
    for (const std::size_t moment : {0, 1}) add(of.moment(moment, each));
  }
  add(of.buffer(0));
  return all;
}

/// What the process that is killed says about itself, in shared memory.
struct progress_of_child {
  std::atomic<std::uint64_t> applied = 0;
  std::atomic<bool> is_applying = false;
};

/// SIGKILL to this process after some time, also while others need the processor.
void kill_after(std::chrono::nanoseconds delay) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  const itimerspec at{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = delay.count()}};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 || ::timer_settime(timer, 0, &at, nullptr) != 0) ::_exit(1);
}

enum class phase : std::uint8_t { finish, apply };

/// Dies some time after it has begun to finish or to apply `last_step`.
[[noreturn]] void train(std::span<std::byte> memory, progress_of_child& progress, phase last_phase,
                        std::uint64_t last_step, std::chrono::nanoseconds delay) {
  const auto parameters = trained_parameters::create(layout(), weights(), running_mean(), memory).value();
  for (std::uint64_t step = 0; step <= last_step; ++step) {
    if (step == last_step && last_phase == phase::finish) kill_after(delay);
    finish_step(*parameters, step);
    progress.is_applying = true;
    if (step == last_step) kill_after(delay);
    if (!parameters->apply(decision_of(step))) break;
    progress.applied = step + 1;
    progress.is_applying = false;
  }
  ::_exit(0);
}

class killed_update : public ::testing::Test {
 protected:
  killed_update() {
    at::set_num_threads(1);  // a team does not survive fork()
    const auto undisturbed = trained_parameters::create(layout(), weights(), running_mean()).value();
    versions_.push_back(bytes_of(*undisturbed));
    for (std::uint64_t step = 0; step < steps; ++step) {
      finish_step(*undisturbed, step);
      const auto begin = now();
      EXPECT_TRUE(undisturbed->apply(decision_of(step)));
      duration_ = step == 0 ? now() - begin : std::min(duration_, now() - begin);
      versions_.push_back(bytes_of(*undisturbed));
    }
  }

  /// Whether the process was killed within the phase.
  bool kill_within(phase killed, std::uint64_t step, std::chrono::nanoseconds delay) {
    auto* const progress = ::new (progress_pages_.bytes().data()) progress_of_child;
    const pid_t child = ::fork();
    if (child == 0) train(pages_.bytes(), *progress, killed, step, delay);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    const std::uint64_t applied = progress->applied;
    const bool was_applying = progress->is_applying;
    check(applied, was_applying);
    return killed == phase::apply ? was_applying : applied == step && !was_applying;
  }

  void check(std::uint64_t applied, bool was_applying) {
    const auto adopted = trained_parameters::adopt(layout(), pages_.bytes());
    ASSERT_TRUE(adopted);
    trained_parameters& found = **adopted;
    const std::uint64_t step = found.step();
    ASSERT_TRUE(step == applied || (was_applying && step == applied + 1)) << step << " after " << applied;
    ASSERT_TRUE(bytes_of(found) == versions_[step]) << "step " << step;
    if (!was_applying) {
      // a gradient is whole or not there, and the step is done again
      EXPECT_TRUE(!found.finished_call() || is_gradient_of(found, applied));
      if (applied == steps) return;
      finish_step(found, applied);
      ASSERT_TRUE(found.apply(decision_of(applied)));
      EXPECT_TRUE(bytes_of(found) == versions_[applied + 1]) << "the step is done again";
      return;
    }
    EXPECT_EQ(found.finished_call(), step == applied ? std::optional(applied) : std::nullopt);
    ASSERT_TRUE(found.apply(decision_of(applied)));
    EXPECT_TRUE(bytes_of(found) == versions_[applied + 1]) << "the decision is carried out by the successor";
  }

  static bool is_gradient_of(const trained_parameters& found, std::uint64_t step) {
    const auto number = static_cast<double>(step + 1);
    return found.finished_call() == step && at::equal(found.gradient(0), at::full({70000}, number)) &&
           at::equal(found.gradient(1), at::full({7}, -number));
  }

  static std::chrono::nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

  std::vector<bytes_of_version> versions_;
  std::chrono::nanoseconds duration_{};
  memory_mapping pages_ = shared_memory::create("test", layout().bytes()).value().map(0, layout().bytes()).value();
  memory_mapping progress_pages_ = shared_memory::create("test", 4096).value().map(0, 4096).value();
};

TEST_F(killed_update, leaves_a_whole_gradient_or_none) {
  seeded_draw draw(static_cast<std::uint64_t>(now().count()));
  int within_finish = 0;
  for (int trial = 0; within_finish < 50 && trial < 5000 && !HasFatalFailure(); ++trial) {
    const auto delay = 1 + draw.below(static_cast<std::uint64_t>(2 * duration_.count()));
    within_finish += kill_within(phase::finish, draw.below(steps), std::chrono::nanoseconds(delay)) ? 1 : 0;
  }
  EXPECT_EQ(within_finish, 50);
}

TEST_F(killed_update, leaves_the_version_before_it_or_after_it) {
  seeded_draw draw(static_cast<std::uint64_t>(now().count()));
  int within_apply = 0;
  for (int trial = 0; within_apply < 200 && trial < 5000 && !HasFatalFailure(); ++trial) {
    const auto delay = 1 + draw.below(static_cast<std::uint64_t>(duration_.count()));
    within_apply += kill_within(phase::apply, draw.below(steps), std::chrono::nanoseconds(delay)) ? 1 : 0;
  }
  EXPECT_EQ(within_apply, 200);
}

}  // namespace
}  // namespace troupe
