// Goal: an evaluator goes on from its journal as documented: progress and rate, which samples are left, which cuts may
// change, which errors. Method: real model and data; runs are ended from the progress hook or by a short limit, never
// by time.
#include <bit>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "program/run/evaluation.hpp"
#include "program/start/journal_pins.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/os/cpu_quota.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::uint64_t> words_of(const run_result& result) {
  std::vector<std::uint64_t> words;
  for (const metric_value& metric : result.metrics) {
    for (const metric_value::field& field : metric.fields) {
      words.insert(words.end(), field.counts.begin(), field.counts.end());
      for (const double real : field.reals) words.push_back(std::bit_cast<std::uint64_t>(real));
    }
  }
  return words;
}

class journaled_evaluation : public ::testing::Test {
 protected:
  journaled_evaluation() {
    std::string name = (std::filesystem::temp_directory_path() / "test-journaled-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    options_.model = (data_dir() / "mnist/lenet.pt").string();
    options_.data = "mnist:" + (data_dir() / "mnist").string();
    options_.run.micro_batch = 4;
    options_.run.threads = 1;
    options_.run.limit = 2400;
    options_.run.journal.file = (directory_ / "run.journal").string();
  }
  ~journaled_evaluation() override { std::filesystem::remove_all(directory_); }

  expected<run_result> run(evaluation_hooks hooks = {}) {
    auto created = TROUPE_TRY(evaluator::create(options_, std::move(hooks)));
    return (created)->run();
  }
  /// Ends the run at the first progress.
  expected<run_result> run_and_stop(stop_kind kind) {
    evaluator* running = nullptr;
    evaluation_hooks hooks;
    hooks.on_progress = [&](const progress_update&) { running->request_stop(kind); };
    auto created = TROUPE_TRY(evaluator::create(options_, hooks));
    running = created.get();
    return running->run();
  }
  std::vector<std::uint64_t> undisturbed() {
    eval_options plain = options_;
    plain.run.journal.file.clear();
    plain.run.journal.resume = false;
    auto created = evaluator::create(plain, {});
    return words_of(*(*created)->run());
  }

  std::filesystem::path directory_;
  eval_options options_;
};

class stopped_journal : public journaled_evaluation, public ::testing::WithParamInterface<stop_kind> {};

TEST_P(stopped_journal, goes_on_and_shows_only_its_own_work_as_rate) {
  const auto stopped = run_and_stop(GetParam());
  ASSERT_TRUE(stopped) << to_string(stopped.error());
  ASSERT_TRUE(stopped->partial);
  const std::uint64_t kept = stopped->delivery.folded;
  ASSERT_GT(kept, 0);
  ASSERT_LT(kept, 600);

  options_.run.journal.resume = true;
  options_.stages = 2;
  std::uint64_t least_done = UINT64_MAX;
  evaluation_hooks hooks;
  hooks.on_progress = [&](const progress_update& update) { least_done = std::min(least_done, update.samples_done); };
  const auto whole = run(hooks);
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_FALSE(whole->partial);
  EXPECT_EQ(words_of(*whole), undisturbed());
  EXPECT_EQ(whole->samples, 2400);
  EXPECT_EQ(whole->delivery.expected, 600);
  EXPECT_EQ(whole->delivery.folded, 600);
  EXPECT_EQ(whole->delivery.resumed, kept);
  EXPECT_EQ(whole->delivery.lost, 0);
  EXPECT_EQ(whole->stages.front().micro_batches, 600 - kept);
  EXPECT_GE(least_done, kept * 4) << "progress begins at what the journal had";
  EXPECT_DOUBLE_EQ(whole->samples_per_second,
                   static_cast<double>(2400 - kept * 4) / std::chrono::duration<double>(whole->wall_time).count());
  EXPECT_TRUE(whole->config.run.journal.resume);
}

INSTANTIATE_TEST_SUITE_P(both, stopped_journal,
                         ::testing::ValuesIn(fewer_if_sanitized<stop_kind>({stop_kind::drain, stop_kind::now}, {1})));

/// 4 cores in 1 stage are 4 threads, and would be 2 in 2 stages or 1 in 4.
TEST(threads_of_a_run, are_those_asked_for_else_the_journals_else_as_many_as_cores) {
  std::string name = (std::filesystem::temp_directory_path() / "test-threads-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(name.data());
  const auto journal_of = [&](const std::string& threads) {
    const auto file = (directory / threads).string();
    EXPECT_TRUE(create_journal(file, {{"threads", threads}})) << file;
    return file;
  };
  const topology two_stages = topology{}.pipeline("stage", "model.pt", {.stages = 2});
  run_options options;
  EXPECT_EQ(threads_of(two_stages, options, 4), 2U);
  options.journal.file = journal_of("3");
  EXPECT_EQ(threads_of(two_stages, options, 4), 2U) << "a run that is not resumed has a journal of its own";
  options.journal.resume = true;
  EXPECT_EQ(threads_of(two_stages, options, 4), 3U);
  options.threads = 1;
  EXPECT_EQ(threads_of(two_stages, options, 4), 1U);
  options.threads.reset();
  for (const char* wrong : {"0", "1025", "x", "2x", "-1", ""}) {
    options.journal.file = wrong[0] == '\0' ? (directory / "none").string() : journal_of(wrong);
    EXPECT_EQ(threads_of(two_stages, options, 4), 2U) << wrong;
  }
  std::filesystem::remove_all(directory);
}

struct other_layout {
  std::uint32_t stages;
  std::uint32_t replicas;
};
class layout_of_the_rest : public journaled_evaluation, public ::testing::WithParamInterface<other_layout> {};

TEST_P(layout_of_the_rest, is_free_although_the_first_run_chose_its_threads_by_its_own) {
  options_.run.threads.reset();
  const auto stopped = run_and_stop(stop_kind::now);
  ASSERT_TRUE(stopped) << to_string(stopped.error());
  ASSERT_TRUE(stopped->partial);
  const auto threads = stopped->config.run.threads;
  ASSERT_GE(threads, cores_to_use()) << "one stage has all cores";

  options_.run.journal.resume = true;
  options_.stages = GetParam().stages;
  options_.replicas = GetParam().replicas;
  const auto whole = run();
  ASSERT_TRUE(whole) << to_string(whole.error());
  EXPECT_EQ(whole->config.run.threads, threads);
  EXPECT_GT(whole->delivery.resumed, 0);
  EXPECT_EQ(whole->delivery.folded, 600);
  options_.stages = 1;
  options_.replicas = 1;
  EXPECT_EQ(words_of(*whole), undisturbed());

  options_.run.threads = *threads + 1;
  const auto refused = run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::journal_mismatch);
  EXPECT_EQ(refused.error().cause,
            "threads was " + std::to_string(*threads) + " and is " + std::to_string(*threads + 1));
  EXPECT_THAT(refused.error().fix, HasSubstr("go on with --threads " + std::to_string(*threads) + ","));
}

INSTANTIATE_TEST_SUITE_P(all, layout_of_the_rest,
                         ::testing::ValuesIn(fewer_if_sanitized<other_layout>({{2, 1}, {1, 2}, {3, 2}}, {0})));

TEST_F(journaled_evaluation, that_is_complete_evaluates_nothing) {
  ASSERT_TRUE(run());
  options_.run.journal.resume = true;
  for (int round = 0; round < 2; ++round) {
    const auto again = run();
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(words_of(*again), undisturbed());
    EXPECT_EQ(again->delivery.resumed, 600);
    EXPECT_EQ(again->stages.front().micro_batches, 0);
    EXPECT_EQ(again->samples_per_second, 0.0);
    EXPECT_FALSE(again->partial);
  }
}

TEST_F(journaled_evaluation, goes_on_with_another_number_of_stages) {
  for (const optimize_mode mode : {optimize_mode::graph, optimize_mode::none}) {
    options_.run.journal.file = (directory_ / std::to_string(static_cast<int>(mode))).string();
    options_.optimize = mode;
    options_.run.limit = 40;
    options_.stages = 2;
    options_.run.journal.resume = false;
    const auto first = run();
    ASSERT_TRUE(first) << to_string(first.error());
    options_.run.journal.resume = true;
    options_.stages = 3;
    const auto again = run();
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(words_of(*again), words_of(*first));
  }
}

TEST_F(journaled_evaluation, goes_on_where_files_were_moved_and_not_where_they_changed) {
  options_.run.limit = 40;
  ASSERT_TRUE(run());
  options_.run.journal.resume = true;
  const auto moved = directory_ / "moved";
  std::filesystem::copy(data_dir() / "mnist", moved, std::filesystem::copy_options::recursive);
  options_.model = (moved / "lenet.pt").string();
  options_.data = "mnist:" + moved.string();
  const auto same = run();
  ASSERT_TRUE(same) << to_string(same.error());
  EXPECT_EQ(same->delivery.resumed, 10);
  std::filesystem::copy_file(data_dir() / "mnist/lenet.pt", directory_ / "other.pt");
  std::ofstream(directory_ / "other.pt", std::ios::app | std::ios::binary) << '\0';
  options_.model = (directory_ / "other.pt").string();
  const auto other = run();
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().code, error_code::internal) << to_string(other.error());
}

/// 8 black pictures as bytes, and their labels.
void write_arrays(const std::filesystem::path& directory) {
  const auto write = [&](const char* name, const std::string& shape, const std::string& payload) {
    std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    std::ofstream(directory / name, std::ios::binary) << std::string("\x93NUMPY\x01\0\x76\0", 10) << header << '\n'
                                                      << payload;
  };
  write("x.npy", "(8, 1, 28, 28)", std::string(std::size_t{8} * 28 * 28, '\0'));
  write("y.npy", "(8,)", "\1\2\1\2\3\3\3\3");
}

TEST_F(journaled_evaluation, does_not_go_on_where_the_same_files_are_read_in_another_way) {
  write_arrays(directory_);
  const std::string files = "npy:" + (directory_ / "x.npy").string() + "," + (directory_ / "y.npy").string();
  options_.data = files + ",float32,ignore=1";
  ASSERT_TRUE(run());
  options_.run.journal.resume = true;
  EXPECT_TRUE(run());
  options_.data = files + ",float32,ignore=2";  // leaves out as many samples
  const auto refused = run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::journal_mismatch) << to_string(refused.error());
  EXPECT_THAT(refused.error().cause, HasSubstr("npy,ignore=2,float32"));
}

TEST_F(journaled_evaluation, that_cannot_start_leaves_no_journal_behind) {
  options_.partition = "0,5,99";
  options_.stages = 2;
  EXPECT_FALSE(run());
  EXPECT_FALSE(std::filesystem::exists(options_.run.journal.file));
}

TEST_F(journaled_evaluation, refuses_states_that_it_cannot_have) {
  const auto data = open_data(options_.data);
  ASSERT_TRUE(data);
  const auto metric = make_metric("accuracy", 10);
  const auto made = evaluation::make({*data, 4, 10, {sink_request{.metrics = {*metric}}}});
  ASSERT_TRUE(made);
  evaluation& call = **made;
  const auto state = [](std::uint64_t index, std::uint32_t sink, std::uint64_t samples, std::size_t words) {
    score made;
    made.id.index = index;
    made.sink = sink;
    made.samples = samples;
    made.words.assign(words, 1);
    return made;
  };
  EXPECT_TRUE(call.restore(state(0, 0, 4, 4)));
  for (const score& wrong :
       {state(1, 1, 4, 4), state(1, 0, 5, 4), state(1, 0, 3, 4), state(3, 0, 2, 4), state(1, 0, 4, 5)}) {
    const auto taken = call.restore(wrong);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, error_code::journal_damaged);
  }
  EXPECT_TRUE(call.restore(state(1, 0, 4, 4)));
  EXPECT_FALSE(call.restore(state(2, 0, 4, 4))) << "the last has two samples";
  EXPECT_TRUE(call.restore(state(2, 0, 2, 4)));
  EXPECT_EQ(call.micro_batches_resumed(), 3);
}

}  // namespace
}  // namespace troupe::testing
