// Goal: every command but eval prints what its documentation says. Method: the built program; vectors of
// docs/schedules.md and docs/partition.md for schedule and plan.
#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/config/option_table.hpp"
#include "tests/cli/commands_in_child.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using json = nlohmann::json;

program_outcome good(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  const auto outcome =
      run_troupe({.arguments = arguments, .body = &commands_in_child, .environment = std::move(environment)});
  EXPECT_EQ(outcome.status, 0) << ::testing::PrintToString(arguments) << outcome.err;
  return outcome;
}

TEST(help, of_the_program_and_of_every_command_goes_to_stdout_with_examples) {
  for (const char* flag : {"--help", "-h"}) {
    EXPECT_THAT(good({flag}).out, HasSubstr("Usage: troupe COMMAND"));
    for (const char* name : {"eval", "plan", "schedule", "simulate", "inspect", "explain", "print-config", "doctor"}) {
      const auto outcome = good({name, flag});
      EXPECT_THAT(outcome.out, HasSubstr("Usage: troupe " + std::string(name)));
      EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  "));
      EXPECT_THAT(outcome.err, IsEmpty());
    }
  }
}

TEST(help, names_every_flag_of_eval) {
  const std::string help = good({"eval", "--help"}).out;
  for (const char* flag :
       {"--model",        "--data",     "--stages",    "--replicas",         "--micro-batch", "--threads",
        "--layers",       "--optimize", "--partition", "--num-pipe-buffers", "--metrics",     "--allow-effects",
        "--allow-random", "--limit",    "--journal",   "--resume",           "--deadline",    "--config",
        "--output",       "--json",     "--trace"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
}

TEST(version, is_one_line) {
  EXPECT_THAT(good({"--version"}).out, ::testing::MatchesRegex("troupe [0-9.]+\n"));
}

TEST(schedule, prints_the_reference_vector_as_json) {
  const auto outcome = good({"schedule", "--kind", "inference", "--micro-batches", "3", "--stages", "3", "--json"});
  const json schedule = json::parse(outcome.out);
  EXPECT_EQ(schedule["num_pipe_buffers"], json::parse("[2, 2, 2]"));
  // s0: L0 F0 | L1 SA0 F1 | L0 SA1 F0 | SA0 | -
  EXPECT_EQ(schedule["steps"][0][1], json::parse(R"([{"op": "LoadMicroBatch", "buffer": 1},
                                                     {"op": "SendActivation", "buffer": 0},
                                                     {"op": "ForwardPass", "buffer": 1}])"));
  EXPECT_EQ(schedule["steps"][0][4], json::array());
}

TEST(schedule, draws_a_grid) {
  EXPECT_THAT(good({"schedule", "--kind", "train", "--micro-batches", "3", "--stages", "2"}).out,
              HasSubstr("RG0 SA1 B0"));
}

TEST(simulate, gives_each_seed_the_same_hash_every_time) {
  const auto simulated = [](const std::string& seeds) {
    return json::parse(good({"simulate", "--seeds", seeds, "--json"}).out)["runs"];
  };
  const json all = simulated("3..12");
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(simulated("12..12"), json::array({all[9]}));
  EXPECT_EQ(all[9]["seed"], 12);
  EXPECT_GT(all[9]["steps"], 0);
  EXPECT_EQ(all[9]["trace_hash"].get<std::string>().size(), 16u);
  EXPECT_NE(all[0]["trace_hash"], all[1]["trace_hash"]);
}

TEST(simulate, leaves_faults_out) {
  const auto undisturbed = good({"simulate", "--seeds", "0..20", "--faults", "none", "--json"});
  const json object = json::parse(undisturbed.out);
  for (const json& run : object["runs"]) EXPECT_EQ(run["outcome"], "same bits");
  EXPECT_THAT(good({"simulate", "--seeds", "0..20", "--standard"}).out, HasSubstr("simulated seconds per second"));
}

/// Interrupts a simulation that would take minutes as soon as it shows that its first seed is done.
program_outcome interrupted_simulation(int signal, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"simulate", "--seeds", "0..999999"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_troupe({.arguments = arguments,
                     .body = &commands_in_child,
                     .on_stderr = [signal, sent = false](const std::string& so_far) mutable {
                       if (sent || so_far.find("1/1000000 seeds") == std::string::npos) return std::vector<int>{};
                       sent = true;
                       return std::vector<int>{signal};
                     }});
}

TEST(simulate, interrupted_prints_what_is_done_labelled_partial) {
  const auto outcome = interrupted_simulation(SIGINT, {"--json"});
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("interrupted: finishing this seed"));
  EXPECT_THAT(outcome.err, HasSubstr("E0606"));
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["partial"], true);
  ASSERT_GT(object["runs"].size(), 0u);
  for (std::size_t seed = 0; seed < object["runs"].size(); ++seed) EXPECT_EQ(object["runs"][seed]["seed"], seed);

  const auto text = interrupted_simulation(SIGTERM, {});
  EXPECT_EQ(text.status, 130) << text.err;
  EXPECT_THAT(text.out, StartsWith("partial: "));
}

TEST(simulate, shows_its_progress_and_says_nothing_of_partial_where_it_is_whole) {
  const auto outcome = good({"simulate", "--seeds", "0..3", "--json"});
  EXPECT_THAT(outcome.err, StartsWith("1/4 seeds (25%), "));
  EXPECT_THAT(outcome.err, HasSubstr("4/4 seeds (100%), "));
  EXPECT_FALSE(json::parse(outcome.out).contains("partial"));
}

TEST(plan, cuts_bare_weights) {
  const auto cut = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"plan", "--json", "--layer-weights"};
    all.insert(all.end(), more.begin(), more.end());
    return good(all).out;
  };
  EXPECT_EQ(cut({"1,2,1", "--stages", "4", "--partition", "balanced"}), "{\"boundaries\":[0,1,2,3,3]}\n");
  EXPECT_EQ(cut({"1,2,1", "--stages", "4", "--partition", "uniform"}), "{\"boundaries\":[0,1,2,3,3]}\n");
  EXPECT_EQ(cut({"0,1,2,3,3,3", "--stages", "4"}), "{\"boundaries\":[0,3,4,5,6]}\n");
  EXPECT_EQ(cut({"1,1,1,1,1,1,1,1,1,1", "--stages", "3", "--partition", "uniform"}), "{\"boundaries\":[0,4,7,10]}\n");
}

/// lenet in three stages with two replicas: ranks 0 to 5, stage by stage. The bytes are computed by hand below.
TEST(plan, places_stages_on_the_nodes_of_a_hostfile) {
  const scratch directory;
  directory.write("hosts", "w0 slots=3  # the driver's\nw1 slots=2\n\nw2 slots=2\n");
  const std::vector<std::string> asked = {"plan",
                                          "--model",
                                          (data_dir() / "mnist/lenet.pt").string(),
                                          "--data",
                                          "mnist:" + (data_dir() / "mnist").string(),
                                          "--stages",
                                          "3",
                                          "--partition",
                                          "0,5,10,15",
                                          "--replicas",
                                          "2",
                                          "--micro-batch",
                                          "10",
                                          "--hostfile",
                                          (directory.path() / "hosts").string()};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return more;
  };
  const json whole = json::parse(good(with({"--json"})).out);
  const auto where = [](const json& plan) {
    std::string text;
    for (const json& node : plan["nodes"]) {
      text += node["name"].get<std::string>() + ":";
      for (const json& rank : node["ranks"]) {
        text += " " + std::to_string(rank["slot"].get<int>()) + "=" + std::to_string(rank["rank"].get<int>()) + "/" +
                std::to_string(rank["stage"].get<int>()) + "/" + std::to_string(rank["replica"].get<int>());
      }
      text += ";";
    }
    return text;
  };
  EXPECT_EQ(where(whole), "w0: 0=0/0/0 1=1/0/1 2=2/1/0;w1: 0=3/1/1 1=4/2/0;w2: 0=5/2/1;");
  // Into stage 0 nothing crosses. Into stage 1: 2 of 4 pairs. Into stage 2: (2,4) (2,5) (3,5), not (3,4).
  const json bare = json::parse(good(with({"--json", "--num-nodes", "3"})).out);
  EXPECT_EQ(bare["crossing_bytes"], whole["crossing_bytes"]);
  const std::uint64_t labels = 10 * 8;
  const std::uint64_t into_1 = 10 * 6 * 14 * 14 * 4 + labels;  // of 32 x 32: Conv2d 5 x 5, ReLU, MaxPool2d
  const std::uint64_t into_2 = 10 * 120 * 4 + labels;          // after the first Linear
  EXPECT_EQ(whole["crossing_bytes"], (2 * into_1 + 3 * into_2) / 4);
  EXPECT_EQ(where(json::parse(good(with({"--json", "-e", "w1:1"})).out)),
            "w0: 0=0/0/0 1=1/0/1 2=2/1/0;w1: 0=3/1/1;w2: 0=4/2/0 1=5/2/1;");
  const std::string text = good(with({})).out;
  EXPECT_THAT(text, HasSubstr("between nodes  "));
  EXPECT_THAT(text, HasSubstr("w1        2  3: 1, 1; 4: 2, 0"));
}

TEST(plan, shows_a_model_with_and_without_data) {
  const std::string model = (data_dir() / "mnist/lenet.pt").string();
  const json bare = json::parse(good({"plan", "--model", model, "--stages", "3", "--json"}).out);
  EXPECT_EQ(bare["stages"].size(), 3U);
  EXPECT_EQ(bare["boundaries"][3], 15);
  EXPECT_TRUE(bare["bubble"].is_null());
  EXPECT_EQ(bare["partition"], "auto");
  EXPECT_EQ(bare["cut_by"], "parameters");
  const json full = json::parse(good({"plan", "--model", model, "--data", "mnist:" + (data_dir() / "mnist").string(),
                                      "--stages", "3", "--replicas", "2", "--json"})
                                    .out);
  EXPECT_EQ(full["cut_by"], "profile");
  EXPECT_EQ(full["micro_batches"], 157);
  // 79 of them for the busier replica, and a pipeline of 3 stages.
  EXPECT_DOUBLE_EQ(full["bubble"].get<double>(), 2.0 / 81.0);
  EXPECT_GT(full["balance"].get<double>(), 0.0);
  EXPECT_LE(full["balance"].get<double>(), 1.0);
  for (const json& stage : full["stages"]) EXPECT_GT(stage["forward_seconds"].get<double>(), 0.0);
  ASSERT_EQ(full["cuts"].size(), 2U);
  for (std::size_t cut = 0; cut < 2; ++cut) {
    EXPECT_EQ(full["cuts"][cut]["layer"], full["boundaries"][cut + 1]);
    EXPECT_EQ(full["cuts"][cut]["values"].size(), 1U);
    EXPECT_GT(full["cuts"][cut]["bytes"].get<std::uint64_t>(), 0U);
  }
  EXPECT_EQ(full["methods"][0]["boundaries"], full["boundaries"]);
  EXPECT_EQ(full["methods"].size(), 3U);
  for (const json& other : full["methods"]) {
    EXPECT_GE(other["slowest_seconds"].get<double>(), full["methods"][0]["slowest_seconds"].get<double>());
  }
  EXPECT_THAT(good({"plan", "--model", model, "--stages", "3"}).out, HasSubstr("auto, here parameters"));
}

/// Before the second Conv2d crosses [10, 6, 14, 14] with each micro-batch.
TEST(plan, charges_what_crosses_between_processes) {
  const auto seconds = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"plan",
                                    "--model",
                                    (data_dir() / "mnist/lenet.pt").string(),
                                    "--data",
                                    "mnist:" + (data_dir() / "mnist").string(),
                                    "--stages",
                                    "2",
                                    "--partition",
                                    "0,5,15",
                                    "--micro-batch",
                                    "10",
                                    "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const json plan = json::parse(good(all).out);
    EXPECT_EQ(plan["cuts"][0]["bytes"], 10 * 6 * 14 * 14 * 4);
    return plan["stages"][1]["crossing_seconds"].get<double>();
  };
  EXPECT_EQ(seconds({}), 0.0);
  EXPECT_DOUBLE_EQ(seconds({"--processes"}), 1.1e-10 * (10 * 6 * 14 * 14 * 4));
  EXPECT_DOUBLE_EQ(seconds({"--processes", "--transport", "tcp"}), 2.5e-10 * (10 * 6 * 14 * 14 * 4));
}

TEST(plan, halves_the_weights_of_a_model_that_is_cast) {
  const std::string model = (data_dir() / "mnist/lenet.pt").string();
  const auto bytes = [&](const std::string& dtype) {
    const json plan = json::parse(good({"plan", "--model", model, "--dtype", dtype, "--json"}).out);
    return plan["stages"][0]["weight_bytes"].get<std::uint64_t>();
  };
  EXPECT_GT(bytes("bfloat16"), 0U);
  EXPECT_EQ(bytes("auto"), 2 * bytes("bfloat16"));
  EXPECT_EQ(bytes("float32"), bytes("auto")) << "it is what the file has";
}

TEST(plan, has_no_flag_that_changes_nothing_and_takes_the_file_of_an_evaluation) {
  const std::string help = good({"plan", "--help"}).out;
  for (const option& each : all_options()) {
    const bool is_for_plan =
        std::ranges::count(
            std::vector<std::string_view>{
                "model",         "weights",      "arch",   "not_strict", "data",      "stages",           "replicas",
                "micro_batch",   "threads",      "layers", "optimize",   "partition", "num_pipe_buffers", "dtype",
                "allow_effects", "allow_random", "limit",  "json",       "processes", "transport"},
            each.name) > 0;
    EXPECT_EQ(help.find("  " + flag_name(each) + " ") != std::string::npos, is_for_plan) << each.name;
  }
  const scratch directory;
  directory.write("run.toml", "stages = 3\nprocesses = true\njournal = \"j\"\nresume = true\ntrace = true\n");
  const auto outcome = good({"plan", "--model", (data_dir() / "mnist/lenet.pt").string(), "--config",
                             (directory.path() / "run.toml").string(), "--json"},
                            {"TROUPE_DEADLINE=1", "TROUPE_TRANSPORT=tcp"});
  EXPECT_EQ(json::parse(outcome.out)["stages"].size(), 3U);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(inspect, lists_the_layers) {
  const auto outcome =
      good({"inspect", (data_dir() / "mnist/lenet.pt").string(), "--data", "mnist:" + (data_dir() / "mnist").string()});
  EXPECT_THAT(outcome.out, HasSubstr("a chain of 15 layers"));
  EXPECT_THAT(outcome.out, HasSubstr("Conv2d"));
  EXPECT_THAT(outcome.out, HasSubstr("[1, 1, 28, 28]"));
  EXPECT_THAT(outcome.out, HasSubstr("14 places to cut"));
  const std::string model = (data_dir() / "mnist/lenet.pt").string();
  const json bare = json::parse(good({"inspect", model, "--json"}).out);
  ASSERT_EQ(bare["layers"].size(), 15U);
  EXPECT_TRUE(bare["layers"][5]["cut_before"]["bytes"].is_null());
  const json full =
      json::parse(good({"inspect", model, "--json", "--data", "mnist:" + (data_dir() / "mnist").string()}).out);
  EXPECT_EQ(full["layers"][5]["cut_before"]["bytes"], 6 * 14 * 14 * 4);
  EXPECT_EQ(full["layers"][5]["inputs"], json::parse("[[1,6,14,14]]"));
  EXPECT_EQ(full["layers"][5]["parameters"].get<int>(), 16 * 6 * 5 * 5 + 16);
}

TEST(explain, takes_a_code_in_any_spelling_and_lists_all) {
  for (const char* code : {"E0204", "e0204", "204"}) EXPECT_THAT(good({"explain", code}).out, StartsWith("E0204: "));
  EXPECT_THAT(good({"explain"}).out, HasSubstr("E0611"));
}

TEST(print_config, says_where_values_come_from_and_can_be_read_back) {
  const scratch directory;
  directory.write("run.toml", "micro_batch = 32\n");
  const std::string file = (directory.path() / "run.toml").string();
  const auto outcome =
      good({"print-config", "--config", file, "--stages", "4", "--metrics", "nll"}, {"TROUPE_THREADS=2"});
  EXPECT_THAT(outcome.out, HasSubstr("# --stages"));
  EXPECT_THAT(outcome.out, HasSubstr("# TROUPE_THREADS"));
  EXPECT_THAT(outcome.out, HasSubstr("# " + file + ":1:15"));
  EXPECT_THAT(outcome.out, HasSubstr("# default"));
  directory.write("again.toml", outcome.out);
  const auto again = good({"print-config", "--config", (directory.path() / "again.toml").string(), "--json"});
  const json values = json::parse(again.out);
  EXPECT_EQ(values["stages"]["value"], 4);
  EXPECT_EQ(values["threads"]["value"], 2);
  EXPECT_EQ(values["micro_batch"]["value"], 32);
  EXPECT_EQ(values["metrics"]["value"], json::parse(R"(["nll"])"));
  EXPECT_TRUE(values["limit"]["value"].is_null());
  EXPECT_EQ(values["json"]["source"], "--json");
}

TEST(doctor, checks_kernels_and_versions) {
  const auto outcome = good({"doctor"});
  EXPECT_THAT(outcome.out, HasSubstr("ok       self-test"));
  EXPECT_THAT(outcome.out, HasSubstr("libtorch   2."));
}

TEST(doctor, json_has_the_libraries_for_gpus_or_null) {
  const json values = json::parse(good({"doctor", "--json"}).out);
  for (const json& version : {values["nccl"]["version"], values["cuda"]["runtime"], values["cuda"]["driver"]}) {
    EXPECT_TRUE(version.is_null() || version.is_string()) << version;
  }
  EXPECT_TRUE(values["cuda"]["devices"].is_array());
  EXPECT_EQ(values["cuda"]["driver"].is_null() && !values["cuda"]["devices"].empty(), false) << values["cuda"];
  EXPECT_FALSE(values["checks"].empty());
}

TEST(output, that_cannot_be_written_is_an_error_of_every_command) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                     {"--version"},
                                                                     {"explain"},
                                                                     {"eval", "--help"},
                                                                     {"print-config"},
                                                                     {"plan", "--layer-weights", "1"}}) {
    program_call call{.arguments = arguments};
    call.stdout_file = "/dev/full";
    const auto outcome = run_troupe(call);
    EXPECT_EQ(outcome.status, 1) << ::testing::PrintToString(arguments);
    EXPECT_THAT(outcome.err, HasSubstr("error E0611: stdout"));
  }
}

}  // namespace
}  // namespace troupe::testing
