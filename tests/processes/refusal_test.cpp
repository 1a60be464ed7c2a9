// Goal: what cannot run in worker processes is refused with its reason, and no worker computes anything else than its
// driver. Method: the built program and faulty_program with options, topologies and files that do not fit.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

struct refused {
  std::vector<std::string> flags;
  std::string piece;
};

TEST(options_that_contradict, are_refused_by_the_command_line) {
  const std::vector<refused> cases = {
      {{"--processes", "--transport", "inproc"}, "inproc edges do not leave a process"},
      {{"--transport", "tcp"}, "tcp edges are between processes"},
      {{"--forward-deadline", "1"}, "a forward inside the program's own process cannot be ended"},
      {{"--worker-timeout", "5"}, "there are no workers"},
      {{"--start-deadline", "5"}, "there are no workers"},
      {{"--checksums"}, "there are no edges between processes"},
      {{"--processes", "--trace", "--output", "."}, "a trace is recorded inside one process"}};
  for (const refused& one : cases) {
    marked_run run(with(lenet(16, 100), one.flags));
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0104: "));
    EXPECT_THAT(outcome.err, HasSubstr(one.piece));
    run.expect_nothing_left();
  }
}

TEST(options_that_contradict, are_refused_by_a_run_in_code) {
  const std::vector<refused> cases = {
      {{"transport=inproc"}, "inproc edges do not leave a process"},
      {{"processes=first", "transport=inproc"}, "inproc edges do not leave a process"},
      {{"processes=none", "transport=tcp"}, "tcp edges are between processes"},
      {{"processes=none", "forward_deadline=1"}, "a forward inside the program's own process cannot be ended"},
      {{"processes=none", "start_deadline=5"}, "there are no workers"},
      {{"trace=yes"}, "a trace is recorded inside one process"},
      {{"program=no"}, "make a troupe::program at the start of main()"},
      {{"program=no", "processes=first"}, "make a troupe::program at the start of main()"}};
  for (const refused& one : cases) {
    marked_run run(one.flags, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0104: "));
    EXPECT_THAT(outcome.err, HasSubstr(one.piece));
    run.expect_nothing_left();
  }
}

TEST(a_time_that_no_worker_can_keep, is_refused_by_a_run_in_code) {
  marked_run run({"start_deadline=0.5"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0103: start_deadline: "));
  run.expect_nothing_left();
}

/// The system tells of a file that may not grow, also of one in memory, by a signal that ends a program.
TEST(memory_that_may_not_grow, is_an_error_of_a_run_in_code) {
  marked_run run({"prlimit", "--fsize=100", "--", FAULTY_PROGRAM, "processes=all"}, "/usr/bin/env");
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0614: "));
  EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  run.expect_nothing_left();
}

TEST(another_topology_in_a_worker, is_refused) {
  marked_run run({"other=pid"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0617: "));
  EXPECT_EQ(outcome.out, "");
  EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
  run.expect_nothing_left();
}

TEST(another_topology_in_a_worker, of_a_second_run_is_refused) {
  marked_run run({"runs=2", "other=second-run"}, FAULTY_PROGRAM);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0617: "));
  EXPECT_EQ(results_of(outcome).size(), 1u);
  EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
  run.expect_nothing_left();
}

TEST(the_same_topology, runs_again_and_gives_the_same) {
  for (const char* where : fewer_if_sanitized<const char*>({"processes=all", "processes=first"}, {1})) {
    marked_run run({"runs=3", where}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const auto results = results_of(outcome);
    ASSERT_EQ(results.size(), 3u);
    for (const auto& each : results) EXPECT_EQ(words_of(each["metrics"]), words_of(results.front()["metrics"]));
    run.expect_nothing_left();
  }
}

/// The same layers with other weights: a third of the file's bytes are turned around, each the sign of a float.
std::string with_other_weights(std::string model) {
  for (std::size_t at = model.size() / 3; at < model.size() * 2 / 3; ++at) {
    if (at % 4 == 3) model[at] = static_cast<char>(model[at] ^ 0x80);
  }
  return model;
}

/// Also when the one who takes the place has been waiting since before.
TEST(a_model_that_is_replaced, gives_the_same_bits_or_is_refused) {
  const undisturbed& whole = undisturbed::of(lenet(1, 2000));
  const std::string model = file_content(std::filesystem::absolute(data_dir()) / "mnist/lenet.pt");
  for (const std::size_t victim : fewer_if_sanitized<std::size_t>({0, 1}, {0})) {
    auto arguments = with(lenet(1, 2000), {"--processes", "--stages", "2", "--journal", killer::journal});
    arguments.at(2) = "model.pt";
    marked_run run(arguments);
    run.directory().write("model.pt", model);
    run.on_tick = [&, done = false]() mutable -> std::vector<int> {
      const auto workers = run.workers();
      if (done || workers.size() < 3 || run.size_of(killer::journal) * 3 < whole.journal_bytes) return {};
      run.directory().write("other.pt", with_other_weights(model));
      std::filesystem::rename(run.directory().path() / "other.pt", run.directory().path() / "model.pt");
      ::kill(workers.at(victim), SIGKILL);
      done = true;
      return {};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("victim " + std::to_string(victim) + ", stderr:\n" + outcome.err);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("error E0617: "));
    EXPECT_EQ(outcome.out, "");
    EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
    run.expect_nothing_left({killer::journal, "model.pt"});
  }
}

}  // namespace
}  // namespace troupe::testing
