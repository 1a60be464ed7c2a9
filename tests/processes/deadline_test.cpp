// Goal: a deadline and Ctrl-C hold whatever a model, a stage or a reader of stderr does, also before the first
// micro-batch is evaluated, and what a model does to the process that tries it out is told and costs no other. Method:
// models made here and faulty_program, with a pipe that is full for stderr, loops without an end and signals to the
// process.
#include <algorithm>
#include <csignal>
#include <iterator>
#include <set>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/processes/process_list.hpp"
#include "tests/processes/undisturbed.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using arguments = std::vector<std::string>;

constexpr int deadline_status = 124;
constexpr int interrupted_status = 130;
constexpr int bad_input_status = 3;
/// Far less than "for ever", and enough for a busy machine.
constexpr double soon_seconds = sanitized ? 60 : 20;

std::string save_model(const marked_run& run, const std::string& forward) {
  torch::jit::Module module("made");
  module.define(forward);
  const auto file = run.directory().path() / "model.pt";
  module.save(file.string());
  return file.string();
}

/// One that never returns.
constexpr const char* loop = R"(
def forward(self, x):
  while bool(x.sum() == x.sum()):
    x = x + 1.0
  return x
)";

/// The address is far from any memory.
constexpr const char* crash = R"(
def forward(self, x):
  at = torch.full([1, 1], 1 << 50)
  y = torch._sparse_coo_tensor_unsafe(at, torch.ones([1]), [10])
  return torch.flatten(x, 1)[:, 0:10] + y.to_dense()
)";

constexpr const char* chatter = R"(
def forward(self, x):
  for i in range(3000):
    print("a line of a model that talks while it computes")
  return torch.flatten(x, 1)[:, 0:10]
)";

arguments eval_with(const std::string& model, const arguments& more) {
  auto all = with(lenet(1, 2000), more);
  all.at(2) = model;
  return all;
}

std::vector<pid_t> probes_of(marked_run& run) {
  std::vector<pid_t> found;
  std::ranges::copy_if(run.children(), std::back_inserter(found), is_try_out);
  return found;
}

TEST(a_model_that_never_returns, ends_at_the_deadline_while_it_is_tried_out) {
  for (const arguments& where : {arguments{}, arguments{"--processes"}}) {
    marked_run run({});
    run.deadline = 60s;
    const auto outcome = run.run(eval_with(save_model(run, loop), with({"--deadline", "2"}, where)));
    SCOPED_TRACE(::testing::PrintToString(where));
    EXPECT_EQ(outcome.status, deadline_status) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0605: "));
    EXPECT_LT(run.seconds(), soon_seconds);
    run.expect_nothing_left({"model.pt"});
  }
}

TEST(a_model_that_never_returns, ends_at_the_first_interrupt_while_it_is_tried_out) {
  marked_run run({});
  run.deadline = 60s;
  const std::string model = save_model(run, loop);
  run.on_tick = [&, sent = false]() mutable -> std::vector<int> {
    const bool is_due = !sent && !probes_of(run).empty();
    sent = sent || is_due;
    return is_due ? std::vector<int>{SIGINT} : std::vector<int>{};
  };
  const auto outcome = run.run(eval_with(model, {"--processes"}));
  EXPECT_EQ(outcome.status, interrupted_status) << outcome.err;
  run.expect_nothing_left({"model.pt"});
}

TEST(a_model_that_never_returns, is_given_no_more_than_the_start_deadline) {
  if (sanitized) GTEST_SKIP() << same_code;
  // A minute for the start of the program comes on top (limits::worker_hello_timeout).
  marked_run run({});
  run.deadline = 180s;
  const auto outcome = run.run(eval_with(save_model(run, loop), {"--processes", "--start-deadline", "1"}));
  EXPECT_EQ(outcome.status, bad_input_status) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("error E0215: "), HasSubstr("still being tried out after 21 s")));
  run.expect_nothing_left({"model.pt"});
}

TEST(a_profile, ends_at_the_deadline) {
  for (const arguments& where : {arguments{}, arguments{"--processes"}}) {
    auto all = eval_of("cifar10/resnet20.pt", "cifar10:cifar10/test_batch_1000.bin", 256, 1000);
    marked_run run(with(with(all, {"--stages", "2", "--partition", "profile", "--deadline", "1"}), where));
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, deadline_status) << outcome.err;
    EXPECT_LT(run.seconds(), sanitized ? 30 : 6);
    run.expect_nothing_left();
  }
}

/// AddressSanitizer makes an exit of the signal, and says so.
const std::string how_it_crashed = sanitized ? "AddressSanitizer: SEGV" : "killed by SIG";

TEST(a_model_that_crashes, is_named_with_the_signal) {
  marked_run run({});
  const std::string model = save_model(run, crash);
  const auto outcome = run.run(eval_with(model, {"--processes"}));
  EXPECT_EQ(outcome.status, bad_input_status) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("error E0215: " + model + ": "), HasSubstr(how_it_crashed)));
  EXPECT_EQ(outcome.out, "");
  run.expect_nothing_left({"model.pt"});
}

/// Whatever crashes it: the driver sees the signal alone, or the report of a sanitizer that has begun.
TEST(a_process_that_tries_a_model_out, is_named_with_its_signal) {
  marked_run run({});
  const std::string model = save_model(run, loop);
  // Once each: a second signal cuts the report of AddressSanitizer on the first one short.
  std::set<pid_t> killed;
  run.on_tick = [&]() -> std::vector<int> {
    for (const pid_t probe : probes_of(run)) {
      if (killed.insert(probe).second) ::kill(probe, SIGSEGV);
    }
    return {};
  };
  const auto outcome = run.run(eval_with(model, {"--processes"}));
  const bool is_crash = outcome.err.find("error E0215: " + model + ": ") != std::string::npos;
  const bool came_before = outcome.err.find("error E0614: ") != std::string::npos;
  EXPECT_TRUE(is_crash || came_before) << outcome.err;
  EXPECT_THAT(outcome.err, AnyOf(HasSubstr("killed by SIGSEGV"), HasSubstr(how_it_crashed)));
  run.expect_nothing_left({"model.pt"});
}

TEST(a_process_that_tries_a_model_out, may_be_killed_twice) {
  if (sanitized) GTEST_SKIP() << same_code;
  const undisturbed& whole = undisturbed::of(lenet(2, 2000));
  marked_run run(with(lenet(2, 2000), {"--processes", "--stages", "2"}));
  std::set<pid_t> killed;
  run.on_tick = [&]() -> std::vector<int> {
    for (const pid_t probe : probes_of(run)) {
      if (killed.size() < 2 && killed.insert(probe).second) ::kill(probe, SIGKILL);
    }
    return {};
  };
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(killed.size(), 2);
  EXPECT_EQ(words_of(nlohmann::json::parse(outcome.out)["metrics"]), whole.metrics);
  run.expect_nothing_left();
}

TEST(a_process_that_tries_a_model_out, killed_every_time_ends_the_run) {
  marked_run run(with(lenet(2, 2000), {"--processes", "--stages", "2"}));
  run.on_tick = [&]() -> std::vector<int> {
    for (const pid_t probe : probes_of(run)) ::kill(probe, SIGKILL);
    return {};
  };
  const auto outcome = run.run();
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("killed by SIGKILL"));
  EXPECT_EQ(outcome.out, "");
  run.expect_nothing_left();
}

struct fatal_fault {
  const char* fault;
  const char* how;
  /// In the warning that it is started again, if it is.
  const char* how_again = nullptr;
};
class in_the_first_micro_batch : public ::testing::TestWithParam<fatal_fault> {};

TEST_P(in_the_first_micro_batch, a_stage_ends_another_process_than_the_drivers) {
  for (const char* where : {"processes=all", "processes=first"}) {
    marked_run run({std::string("fault=") + GetParam().fault, "at=1", where}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, bad_input_status) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0215: topology, fragile: "));
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().how));
    EXPECT_THAT(outcome.err, HasSubstr(std::string("\n  last words before ") + GetParam().fault));
    const std::string warning = "warning: [try-out] the process in which the model is tried out is started again: ";
    if (GetParam().how_again != nullptr) {
      EXPECT_THAT(outcome.err, HasSubstr(warning + GetParam().how_again));
    } else {
      EXPECT_THAT(outcome.err, Not(HasSubstr(warning)));
    }
    EXPECT_EQ(outcome.out, "");
    run.expect_nothing_left();
  }
}

const std::vector<fatal_fault> fatal_faults{{"abort", "killed by SIGABRT"},
                                            {"kill", "3 times: killed by SIGKILL", "killed by SIGKILL"},
                                            {"exit", "exited with status 3"}};
INSTANTIATE_TEST_SUITE_P(ways, in_the_first_micro_batch, ::testing::ValuesIn(fewer_if_sanitized(fatal_faults, {2})),
                         [](const auto& one) { return std::string(one.param.fault); });

TEST(a_stage_in_its_first_micro_batch, fails_alike_in_processes) {
  std::vector<std::string> errors;
  for (const char* where : {"processes=none", "processes=first", "processes=all"}) {
    marked_run run({"fault=throw", "at=1", where}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    errors.push_back(outcome.err.substr(std::min(outcome.err.size(), outcome.err.find("error E0602: "))));
    EXPECT_THAT(errors.back(), HasSubstr("thrown on purpose"));
    EXPECT_EQ(errors.front(), errors.back());
    run.expect_nothing_left();
  }
}

TEST(a_stage_in_its_first_micro_batch, that_hangs_ends_at_the_deadline) {
  for (const char* where : {"processes=none", "processes=first", "processes=all"}) {
    marked_run run({"fault=hang", "at=1", "deadline=2", where}, FAULTY_PROGRAM);
    run.deadline = 60s;
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, deadline_status) << where << outcome.err;
    EXPECT_LT(run.seconds(), soon_seconds);
    run.expect_nothing_left();
  }
}

TEST(a_stage_that_is_one_object, computes_each_micro_batch_once_where_others_are_in_processes) {
  marked_run run({"shared=yes", "processes=first"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("counted 100\n"));
  run.expect_nothing_left();
}

TEST(a_reader_of_stderr_that_reads_nothing, holds_up_no_deadline_of_a_program) {
  for (const char* where : {"processes=all", "processes=first"}) {
    marked_run run({"fault=noise", "pace=200000", "deadline=3", where}, FAULTY_PROGRAM);
    run.stderr_full = true;
    run.deadline = 60s;
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, deadline_status);
    EXPECT_LT(run.seconds(), soon_seconds);
    run.expect_nothing_left();
  }
}

TEST(a_reader_of_stderr_that_reads_nothing, holds_up_no_deadline_of_a_program_without_hooks) {
  if (sanitized) GTEST_SKIP() << same_code;
  marked_run run({"fault=noise", "pace=200000", "deadline=6", "hooks=none", "log=info"}, FAULTY_PROGRAM);
  run.stderr_full = true;
  run.deadline = 60s;
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, deadline_status);
  EXPECT_LT(run.seconds(), soon_seconds);
  run.expect_nothing_left();
}

TEST(a_reader_of_stderr_that_reads_nothing, holds_up_no_deadline_of_the_command_line) {
  if (sanitized) GTEST_SKIP() << same_code;
  marked_run run({});
  run.stderr_full = true;
  run.deadline = 60s;
  const std::string model = save_model(run, chatter);
  const auto outcome =
      run.run(eval_with(model, {"--processes", "--allow-effects", "--deadline", "5", "--metrics", "accuracy"}));
  EXPECT_EQ(outcome.status, deadline_status);
  EXPECT_LT(run.seconds(), soon_seconds);
  run.expect_nothing_left({"model.pt"});
}

TEST(an_interrupt, hides_no_failure_that_comes_after_it) {
  marked_run run({"fault=abort", "stop=at-last-words"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, interrupted_status) << outcome.err;
  const auto result = results_of(outcome).front();
  EXPECT_EQ(result["partial"], true);
  ASSERT_EQ(result["errors"].size(), 2) << outcome.out;
  EXPECT_EQ(result["errors"][0]["code"], "E0616");
  EXPECT_EQ(result["errors"][1]["code"], "E0606");
  run.expect_nothing_left();
}

}  // namespace
}  // namespace troupe::testing
