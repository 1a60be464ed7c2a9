// Goal: `troupe eval` prints what it should where it should, keeps its files whole, and answers signals, deadlines and
// broken outputs with the documented status. Method: the built program on the models and data of the repository; known
// answers of their README; signals are sent when the program's own output says that it is at work.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using json = nlohmann::json;

std::string data(const std::string& name) {
  return std::filesystem::absolute(data_dir() / name).string();
}

std::vector<std::string> lenet(std::vector<std::string> more) {
  std::vector<std::string> all = {"eval", "--model", data("mnist/lenet.pt"), "--data", "mnist:" + data("mnist")};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Long enough to be interrupted: ResNet-20, one image at a time.
program_call slow_call(std::vector<std::string> more) {
  std::vector<std::string> all = {"eval",
                                  "--model",
                                  data("cifar10/resnet20.pt"),
                                  "--data",
                                  "cifar10:" + data("cifar10/test_batch_1000.bin"),
                                  "--micro-batch",
                                  "1",
                                  "--threads",
                                  "1"};
  all.insert(all.end(), more.begin(), more.end());
  return {.arguments = std::move(all)};
}

/// Sends `signals` once, when the first progress is reported.
auto at_first_progress(std::vector<int> signals) {
  return [signals, sent = false](const std::string& so_far) mutable {
    if (sent || so_far.find("samples") == std::string::npos) return std::vector<int>{};
    sent = true;
    return signals;
  };
}

TEST(eval, prints_one_json_object_and_nothing_else_on_stdout) {
  const auto outcome = run_troupe({.arguments = lenet({"--stages", "2", "--metrics", "accuracy,nll", "--json"})});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["metrics"]["accuracy"]["correct"], 9904);
  EXPECT_EQ(result["metrics"]["accuracy"]["total"], 10000);
  EXPECT_NEAR(result["metrics"]["nll"]["mean"].get<double>(), 0.0303734, 1e-6);
  EXPECT_EQ(result["samples"], 10000);
  EXPECT_EQ(result["micro_batches"], 157);
  EXPECT_EQ(result["delivery"]["folded"], 157);
  EXPECT_EQ(result["delivery"]["lost"], 0);
  EXPECT_EQ(result["stages"].size(), 2U);
  EXPECT_GE(result["config"]["threads"], 1);
  EXPECT_FALSE(result.contains("partial"));
}

TEST(eval, prints_a_table_for_people_and_progress_on_stderr) {
  const auto outcome =
      run_troupe({.arguments = lenet({"--stages", "2", "--metrics", "accuracy,per_class_accuracy,nll"})});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(9904 of 10000)"));
  EXPECT_THAT(outcome.out, HasSubstr("per_class_accuracy\n"));
  EXPECT_THAT(outcome.out, HasSubstr("0.030373"));
  EXPECT_THAT(outcome.out, HasSubstr("stage 1 "));
  EXPECT_THAT(outcome.err, HasSubstr("10000/10000 samples (100%)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("PARTIAL")));
}

TEST(eval, takes_its_options_from_file_environment_and_flags) {
  const scratch directory;
  directory.write("run.toml", "stages = 3\nmicro_batch = 50\nlimit = 100\nreplicas = 1\n");
  program_call call{.arguments = lenet({"--config", "run.toml", "--stages", "2", "--processes", "--json"})};
  call.directory = directory.path().string();
  call.environment = {"TROUPE_STAGES=5", "TROUPE_MICRO_BATCH=25", "TROUPE_REPLICA=2"};
  const auto outcome = run_troupe(call);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json config = json::parse(outcome.out)["config"];
  EXPECT_EQ(config["stages"], 2);
  EXPECT_EQ(config["micro_batch"], 25);
  EXPECT_EQ(config["limit"], 100);
  const std::string warning = "warning: the variable TROUPE_REPLICA is ignored; did you mean TROUPE_REPLICAS?";
  EXPECT_THAT(outcome.err, HasSubstr(warning));
  EXPECT_EQ(outcome.err.find(warning), outcome.err.rfind(warning)) << "workers repeat it: " << outcome.err;
}

TEST(eval, casts_the_model_where_a_dtype_is_asked_for) {
  const auto sum = [](const std::string& dtype) {
    const auto outcome =
        run_troupe({.arguments = lenet({"--limit", "500", "--metrics", "nll", "--json", "--dtype", dtype})});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["config"]["dtype"], dtype);
    return result["metrics"]["nll"]["sum"].get<double>();
  };
  const double in_float32 = sum("auto");
  EXPECT_EQ(sum("float32"), in_float32) << "it is what the file has";
  EXPECT_NE(sum("bfloat16"), in_float32);
  EXPECT_NEAR(sum("bfloat16"), in_float32, 0.1 * in_float32) << "8 bits of significance";
  const auto refused = run_troupe({.arguments = lenet({"--dtype", "float64"})});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("there is no dtype \"float64\""));
}

TEST(eval, writes_the_object_it_prints_and_a_trace) {
  const scratch directory;
  program_call call{.arguments = lenet({"--limit", "100", "--output", "a/b", "--trace", "--json"})};
  call.directory = directory.path().string();
  const auto outcome = run_troupe(call);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(file_content(directory.path() / "a/b/result.json"), outcome.out);
  EXPECT_THAT(directory.entries(), UnorderedElementsAre("a", "a/b", "a/b/result.json", "a/b/trace.jsonl"));
  const std::string trace = file_content(directory.path() / "a/b/trace.jsonl");
  EXPECT_TRUE(json::accept(trace.substr(0, trace.find('\n'))));
}

TEST(eval, interrupted_once_drains_and_prints_a_partial_result) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    program_call call = slow_call({"--json"});
    call.on_stderr = at_first_progress({signal});
    const auto outcome = run_troupe(call);
    ASSERT_EQ(outcome.status, 130) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["partial"], true);
    EXPECT_EQ(result["errors"][0]["code"], "E0606");
    EXPECT_EQ(result["errors"][0]["fix"], "give --journal FILE next time: then --resume does the rest");
    EXPECT_LT(result["samples"], 1000);
    EXPECT_EQ(result["metrics"]["accuracy"]["total"], result["samples"]);
    EXPECT_THAT(outcome.err, HasSubstr("finishing what is under way"));
  }
}

TEST(eval, interrupted_twice_stops_at_once) {
  program_call call = slow_call({});
  call.on_stderr = [first = at_first_progress({SIGINT}), second = false](const std::string& so_far) mutable {
    auto signals = first(so_far);
    if (!second && so_far.find("interrupt again") != std::string::npos) {
      second = true;
      signals.push_back(SIGINT);
    }
    return signals;
  };
  const auto outcome = run_troupe(call);
  EXPECT_EQ(outcome.status, 130) << outcome.err;
}

TEST(eval, past_its_deadline_is_partial_with_status_124) {
  const auto outcome = run_troupe(slow_call({"--deadline", "0.5", "--replicas", "1"}));
  EXPECT_EQ(outcome.status, 124) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0605"));
}

TEST(eval, keeps_its_deadline_while_nobody_reads_stderr) {
  for (const bool as_json : {true, false}) {
    program_call call = slow_call({"--deadline", "0.5", "--replicas", "1"});
    if (as_json) call.arguments.emplace_back("--json");
    call.stderr_full = true;
    call.deadline = std::chrono::seconds{60};
    const auto outcome = run_troupe(call);
    EXPECT_EQ(outcome.status, 124);
    if (!as_json || outcome.out.empty()) continue;
    EXPECT_EQ(json::parse(outcome.out)["errors"][0]["code"], "E0605");
  }
}

TEST(eval, refuses_an_output_that_cannot_be_written_before_it_evaluates) {
  const scratch directory;
  directory.write("out/result.json/in the way", "");
  for (const std::string output : {"/proc/self", "/proc/new", "out", "/dev/null"}) {
    program_call call{.arguments = lenet({"--limit", "10", "--output", output})};
    call.directory = directory.path().string();
    const auto outcome = run_troupe(call);
    EXPECT_EQ(outcome.status, 1) << output << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0611: " + output));
    EXPECT_EQ(outcome.out, "") << output;
  }
  EXPECT_THAT(directory.entries(), UnorderedElementsAre("out", "out/result.json", "out/result.json/in the way"));
}

TEST(eval, names_a_full_disk_and_a_reader_that_went_away) {
  program_call call{.arguments = lenet({"--limit", "10"})};
  call.stdout_file = "/dev/full";
  auto outcome = run_troupe(call);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error E0611: stdout: No space left on device"));
  call.stdout_file.clear();
  call.stdout_closed = true;
  outcome = run_troupe(call);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("error E0611: stdout: Broken pipe"));
}

}  // namespace
}  // namespace troupe::testing
