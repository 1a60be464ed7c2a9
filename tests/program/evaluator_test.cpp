// Goal: an evaluation ends as documented whatever happens to it: whole, cut, stopped, late, refused. Method: real model
// and data; stops are asked for from the progress hook, never by time; a legal trace is demanded of a real run.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>

#include <ATen/Functions.h>
#include <dirent.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "testing/trace_checker.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/data_set.hpp>
#include <troupe/evaluator.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

eval_options lenet_options() {
  eval_options options;
  options.model = (data_dir() / "mnist/lenet.pt").string();
  options.data = "mnist:" + (data_dir() / "mnist").string();
  options.metrics = {"accuracy", "nll"};
  options.run.threads = 1;
  return options;
}

std::uint64_t correct(const run_result& result) {
  return result.metrics.at(0).fields.at(1).counts.at(0);
}

/// A .npy file, version 1.0: 8 bytes of preamble, 2 of length, and a header that ends at byte 128.
void write_npy(const std::filesystem::path& path, const std::string& descr, const std::string& shape,
               const std::string& payload) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\x01\0\x76\0", 10) << header << '\n' << payload;
}

TEST(evaluator, leaves_out_samples_with_the_ignored_label_and_says_how_many) {
  const auto inputs = std::filesystem::path(::testing::TempDir()) / ("ignored_x_" + std::to_string(::getpid()));
  const auto labels = std::filesystem::path(::testing::TempDir()) / ("ignored_y_" + std::to_string(::getpid()));
  // black pictures: one class is predicted for all of them
  write_npy(inputs, "|u1", "(9, 1, 28, 28)", std::string(std::size_t{9} * 28 * 28, '\0'));
  eval_options options = lenet_options();
  options.data = "npy:" + inputs.string() + "," + labels.string() + ",float32,ignore=-1";
  options.run.micro_batch = 2;
  std::uint64_t rights = 0;
  for (char digit = 0; digit < 10; ++digit) {
    write_npy(labels, "|i1", "(9,)",
              std::string("\xff", 1) + digit + digit + "\xff\xff" + digit + digit + digit + "\xff");
    auto created = evaluator::create(options, {});
    ASSERT_TRUE(created) << to_string(created.error());
    const auto result = (*created)->run();
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_EQ(result->samples, 5);
    EXPECT_EQ(result->left_out, 4);
    EXPECT_EQ(result->micro_batches, 3);
    EXPECT_EQ((*result)["accuracy"].count("total"), 5);
    rights += correct(*result);
  }
  EXPECT_EQ(rights, 5);
  std::filesystem::remove(inputs);
  std::filesystem::remove(labels);
}

TEST(evaluator, counts_everything_once_and_reports_each_stage) {
  eval_options options = lenet_options();
  options.stages = 3;
  options.replicas = 2;
  std::uint64_t last_done = 0;
  evaluation_hooks hooks;
  hooks.on_progress = [&](const progress_update& update) {
    EXPECT_GE(update.samples_done, last_done);
    EXPECT_EQ(update.samples_total, 10000);
    last_done = update.samples_done;
  };
  auto created = evaluator::create(options, hooks);
  ASSERT_TRUE(created) << to_string(created.error());
  const auto result = (*created)->run();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(correct(*result), 9904);
  EXPECT_EQ(result->samples, 10000);
  EXPECT_EQ(result->micro_batches, 157);
  EXPECT_EQ(result->delivery.expected, 157);
  EXPECT_EQ(result->delivery.folded, 157);
  EXPECT_EQ(result->delivery.lost, 0);
  EXPECT_FALSE(result->partial);
  EXPECT_EQ(last_done, 10000);
  ASSERT_EQ(result->stages.size(), 6);
  std::uint64_t first_stage = 0;
  std::size_t layers = 0;
  for (const stage_report& stage : result->stages) {
    if (stage.replica == 0) layers += stage.layers.size();
    if (stage.name.find("stage 0") == 0) first_stage += stage.micro_batches;
    EXPECT_GE(stage.busy_fraction, 0);
    EXPECT_LE(stage.busy_fraction, 1);
  }
  EXPECT_EQ(layers, 15);
  EXPECT_EQ(first_stage, 157);
}

TEST(evaluator, a_real_run_is_a_legal_execution_of_the_inference_schedule) {
  for (const std::uint32_t replicas : {1u, 3u}) {
    eval_options options = lenet_options();
    options.stages = 4;
    options.replicas = replicas;
    options.num_pipe_buffers = 3;
    options.run.trace = true;
    options.run.micro_batch = 128;
    auto created = evaluator::create(options, {});
    ASSERT_TRUE(created) << to_string(created.error());
    auto result = (*created)->run();
    ASSERT_TRUE(result) << to_string(result.error());
    const traced_run run{.stages = 4, .replicas = replicas, .num_pipe_buffers = {3}, .micro_batches = {79}};
    ASSERT_EQ(result->trace.size(), 79u * (3 * 3 + 2));
    const auto legal = check_trace(run, result->trace);
    EXPECT_TRUE(legal) << to_string(legal.error());
    auto missing = result->trace;
    missing.erase(missing.begin() + 40);
    EXPECT_FALSE(check_trace(run, missing)) << "a tampered trace must not pass";
    auto other_buffer = result->trace;
    other_buffer[60].buffer = (other_buffer[60].buffer + 1) % 3;
    EXPECT_FALSE(check_trace(run, other_buffer)) << "a tampered trace must not pass";
    auto other_id = result->trace;
    other_id[100].id.index = (other_id[100].id.index + 1) % 79;
    EXPECT_FALSE(check_trace(run, other_id)) << "a tampered trace must not pass";
  }
}

TEST(evaluator, small_activations_give_deeper_edges_and_the_result_says_how_deep) {
  eval_options options = lenet_options();
  options.stages = 3;
  options.run.limit = 400;
  options.run.micro_batch = 1;
  options.partition = "parameters";
  options.run.trace = true;
  auto created = evaluator::create(options, {});
  ASSERT_TRUE(created) << to_string(created.error());
  auto result = (*created)->run();
  ASSERT_TRUE(result) << to_string(result.error());
  const std::uint32_t deep = limits::stage_edge_slots;
  EXPECT_EQ(result->config.num_pipe_buffers, deep);
  const traced_run run{.stages = 3,
                       .replicas = 1,
                       .num_pipe_buffers = {limits::pipe_buffers_default, deep, deep},
                       .micro_batches = {400}};
  const auto legal = check_trace(run, result->trace);
  EXPECT_TRUE(legal) << to_string(legal.error());

  options.run.micro_batch = 256;
  auto large = evaluator::create(options, {});
  ASSERT_TRUE(large) << to_string(large.error());
  EXPECT_EQ((*large)->run()->config.num_pipe_buffers, limits::pipe_buffers_default);
}

class stopped_evaluation : public ::testing::TestWithParam<stop_kind> {};

TEST_P(stopped_evaluation, gives_what_is_done_and_says_that_it_is_partial) {
  eval_options options = lenet_options();
  options.run.micro_batch = 1;
  options.stages = 2;
  evaluator* running = nullptr;
  evaluation_hooks hooks;
  hooks.on_progress = [&](const progress_update&) { running->request_stop(GetParam()); };
  auto created = evaluator::create(options, hooks);
  ASSERT_TRUE(created) << to_string(created.error());
  running = created->get();
  const auto result = (*created)->run();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->partial);
  EXPECT_GT(result->samples, 0);
  EXPECT_LT(result->samples, 10000);
  EXPECT_EQ(result->delivery.expected, 10000);
  EXPECT_EQ(result->delivery.folded, result->samples);
  EXPECT_EQ(result->delivery.lost, 0);
  ASSERT_EQ(result->errors.size(), 1);
  EXPECT_EQ(result->errors[0].code, error_code::interrupted);
  EXPECT_EQ(result->metrics[0].fields[2].counts[0], result->samples) << "the total is of what was folded";
  EXPECT_FALSE((*created)->stuck());
}

INSTANTIATE_TEST_SUITE_P(both, stopped_evaluation, ::testing::Values(stop_kind::drain, stop_kind::now));

TEST(evaluator, a_deadline_ends_the_run_with_what_is_done) {
  eval_options options = lenet_options();
  options.run.micro_batch = 1;
  options.run.deadline = 400ms;
  auto created = evaluator::create(options, {});
  if (!created) {  // a slow machine: the deadline passed before anything ran
    EXPECT_EQ(created.error().code, error_code::deadline_passed);
    return;
  }
  const auto result = (*created)->run();
  ASSERT_TRUE(result);
  ASSERT_FALSE(result->errors.empty());
  EXPECT_EQ(result->errors[0].code, error_code::deadline_passed);
  EXPECT_TRUE(result->partial);
}

/// The stage waits with a micro-batch until the run was told to stop, and fails then.
TEST(evaluator, a_failure_is_not_hidden_by_a_stop_that_was_asked_for_before) {
  eval_options options = lenet_options();
  std::atomic<bool> is_waiting{false};
  std::atomic<bool> is_stopped{false};
  topology what;
  what.source("loader", options.data)
      .stage("late",
             [&](const at::Tensor& input, const micro_batch_info& which) {
               if (which.id.index < 5) return input.flatten(1).narrow(1, 0, 10);
               is_waiting = true;
               while (!is_stopped) std::this_thread::yield();
               throw std::runtime_error("thrown on purpose");
             })
      .stage("scored", [](const at::Tensor& input) { return at::log_softmax(input, 1); })  // as the other one waits
      .sink("metrics", {"accuracy"});
  auto created = evaluator::create(what, {.micro_batch = 16, .threads = 1}, {});
  ASSERT_TRUE(created) << to_string(created.error());
  std::atomic<bool> has_ended{false};
  const auto stopped = std::async(std::launch::async, [&] {
    while (!is_waiting && !has_ended) std::this_thread::yield();
    (*created)->request_stop(stop_kind::drain);
    is_stopped = true;
  });
  const auto result = (*created)->run();
  has_ended = true;
  stopped.wait();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE(result->partial);
  ASSERT_EQ(result->errors.size(), 2);
  EXPECT_EQ(result->errors[0].code, error_code::forward_failed);
  EXPECT_THAT(result->errors[0].cause, HasSubstr("thrown on purpose"));
  EXPECT_EQ(result->errors[1].code, error_code::interrupted);
}

TEST(evaluator, a_hook_that_never_returns_holds_up_no_deadline) {
  std::promise<void> let_go;
  const auto waited_for = std::make_shared<std::shared_future<void>>(let_go.get_future());
  eval_options options = lenet_options();
  options.run.micro_batch = 1;
  options.stages = 2;
  options.run.deadline = 20s;
  if (sanitized) options.run.limit = 1000;
  evaluation_hooks hooks;
  hooks.on_progress = [waited_for](const progress_update&) { waited_for->wait(); };
  auto created = evaluator::create(options, hooks);
  ASSERT_TRUE(created) << to_string(created.error());
  const auto result = (*created)->run();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_TRUE((*created)->stuck());
  EXPECT_TRUE(has_abandoned_threads());
  created->reset();
  let_go.set_value();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (has_abandoned_threads() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(has_abandoned_threads());
}

/// A stage in this process cannot be interrupted: its thread is left behind.
TEST(evaluator, a_stage_that_hangs_when_it_is_tried_out_ends_at_the_deadline) {
  const auto is_over = std::make_shared<std::atomic<bool>>(false);
  topology what;
  what.source("loader", lenet_options().data)
      .stage("hangs",
             [is_over](const at::Tensor& input) {
               while (!*is_over) std::this_thread::yield();
               return input;
             })
      .sink("metrics", {});
  const auto created = evaluator::create(what, {.deadline = std::chrono::milliseconds{200}}, {});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, error_code::deadline_passed);
  EXPECT_TRUE(has_abandoned_threads());
  *is_over = true;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (has_abandoned_threads() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  EXPECT_FALSE(has_abandoned_threads()) << "it has come back, and nothing was started";
}

TEST(evaluator, refuses_options_of_the_command_line_and_a_second_run) {
  eval_options to_file = lenet_options();
  to_file.output = "out";
  eval_options to_stdout = lenet_options();
  to_stdout.json = true;
  for (const eval_options& options : {to_file, to_stdout}) {
    const auto refused = evaluator::create(options, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::flags_contradict);
    EXPECT_THAT(refused.error().fix, HasSubstr("result_json()"));
  }
  eval_options few = lenet_options();
  few.run.limit = 64;
  auto created = evaluator::create(few, {});
  ASSERT_TRUE(created) << to_string(created.error());
  EXPECT_TRUE((*created)->run());
  const auto again = (*created)->run();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, error_code::engine_stopped);
}

TEST(evaluator, limit_counts_samples_not_micro_batches) {
  eval_options options = lenet_options();
  options.run.limit = 130;
  auto result = (*evaluator::create(options, {}))->run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->samples, 130);
  EXPECT_EQ(result->micro_batches, 3);
  EXPECT_FALSE(result->partial);
}

TEST(evaluator, a_model_that_does_not_take_the_data_is_refused_before_anything_runs) {
  eval_options options = lenet_options();
  options.model = (data_dir() / "cifar10/resnet20.pt").string();
  const auto created = evaluator::create(options, {});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, error_code::model_rejects_sample);
  EXPECT_THAT(created.error().where, HasSubstr("layer "));
}

TEST(evaluator, runs_beside_another_one) {
  const eval_options options = lenet_options();
  const auto evaluate = [&] {
    auto one = evaluator::create(options, {});
    return one ? (*one)->run() : tl::make_unexpected(one.error());
  };
  auto other = std::async(std::launch::async, evaluate);
  const auto result = evaluate();
  const auto beside = other.get();
  ASSERT_TRUE(result && beside);
  EXPECT_EQ(correct(*result), 9904);
  EXPECT_EQ(first_difference(*result, *beside), std::nullopt);
}

std::size_t threads_of_this_process() {
  std::size_t threads = 0;
  DIR* tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) threads += entry->d_name[0] != '.' ? 1 : 0;
  closedir(tasks);
  return threads;
}

TEST(evaluator, leaves_no_thread_behind) {
  eval_options options = lenet_options();
  options.run.limit = 640;
  static_cast<void>((*evaluator::create(options, {}))->run());
  const std::size_t before = threads_of_this_process();
  options.stages = 5;
  options.replicas = 2;
  static_cast<void>((*evaluator::create(options, {}))->run());
  // A thread that was joined may be listed a moment longer.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (threads_of_this_process() > before && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_LE(threads_of_this_process(), before);
}

}  // namespace
}  // namespace troupe::testing
