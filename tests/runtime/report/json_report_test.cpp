// Goal: result.json has the documented names and kinds, keeps every bit of a double, and says what JSON cannot. Method:
// a result with known values is written and read back by the JSON library, names compared with the list in the
// documentation.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/metric/metric_lookup.hpp"
#include <troupe/result.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using json = nlohmann::ordered_json;

std::vector<std::string> names_of(const json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

run_result sample_result() {
  run_result result;
  result.model = "lenet.pt";
  result.data = "mnist:data";
  result.samples = 10;
  result.micro_batches = 3;
  result.metrics = {
      {"accuracy",
       {{"value", false, false, {0.9}, {}}, {"correct", false, true, {}, {9}}, {"total", false, true, {}, {10}}}},
      {"per_class_accuracy",
       {{"value", true, false, {1.0, 0.8}, {}},
        {"correct", true, true, {}, {5, 4}},
        {"total", true, true, {}, {5, 5}}}}};
  result.delivery = {3, 3, 1, 2, 0};
  result.stages = {{"stage 0", 0, {"0 Conv2d", "1 ReLU"}, 250ms, 0.5, 3}};
  result.wall_time = 1234567891ns;
  result.samples_per_second = 1.0 / 3.0;
  result.config.run.threads = 1;
  return result;
}

TEST(result_json, has_the_documented_names_and_no_others) {
  const json object = json::parse(result_json(sample_result()).text);
  EXPECT_THAT(names_of(object), ElementsAre("schema_version", "model", "data", "samples", "micro_batches",
                                            "samples_with_nan", "samples_with_infinity", "metrics", "delivery",
                                            "stages", "wall_seconds", "samples_per_second", "faults", "config"));
  EXPECT_THAT(names_of(object["metrics"]["accuracy"]), ElementsAre("value", "correct", "total"));
  EXPECT_THAT(names_of(object["delivery"]),
              ElementsAre("expected", "folded", "replayed", "duplicates_dropped", "lost", "resumed"));
  EXPECT_THAT(names_of(object["stages"][0]),
              ElementsAre("name", "replica", "layers", "forward_seconds", "busy_fraction", "micro_batches"));
  EXPECT_THAT(names_of(object["config"]),
              ElementsAre("model", "weights", "arch", "not_strict", "data", "data_workers", "stages", "replicas",
                          "micro_batch", "threads", "layers", "optimize", "partition", "num_pipe_buffers", "device",
                          "cuda_graphs", "dtype", "metrics", "score_output", "score_label", "predictions",
                          "predictions_with", "confidence", "bootstrap_resamples", "bootstrap_seed", "allow_effects",
                          "allow_random", "limit", "processes", "transport", "worker_timeout", "start_deadline",
                          "forward_deadline", "checksums", "journal", "resume", "deadline", "fault", "output",
                          "log_scalars", "log_step", "log", "log_format", "log_level", "json", "trace"));
}

TEST(result_json, says_how_many_samples_were_left_out) {
  run_result result = sample_result();
  result.left_out = 3;
  EXPECT_EQ(json::parse(result_json(result).text)["left_out"], 3);
}

TEST(result_json, says_which_method_cut_a_pipeline) {
  run_result result = sample_result();
  result.cut_by = {{"late", "0,4,15"}, {"stage", "profile"}};
  EXPECT_EQ(json::parse(result_json(result).text)["cut_by"], json::parse(R"({"late": "0,4,15", "stage": "profile"})"));
}

TEST(result_json, says_what_runs_as_it_stands_and_what_to_know_of_the_numbers) {
  run_result result = sample_result();
  result.plain_pipelines = {"stage"};
  result.warnings = {"it draws random numbers"};
  const json object = json::parse(result_json(result).text);
  EXPECT_EQ(object["plain_pipelines"], json::parse(R"(["stage"])"));
  EXPECT_EQ(object["warnings"], json::parse(R"(["it draws random numbers"])"));
}

TEST(result_json, has_every_sink_where_there_are_several) {
  run_result result = sample_result();
  result.sinks = {{"early", 3, {}}, {"all", 10, result.metrics}};
  result.sinks[0].samples_with_nan = 2;
  result.sinks[0].samples_with_infinity = 1;
  result.stages[0].samples = 7;
  const json object = json::parse(result_json(result).text);
  EXPECT_EQ(object["sinks"]["early"]["samples"], 3);
  EXPECT_EQ(object["sinks"]["early"]["samples_with_nan"], 2);
  EXPECT_EQ(object["sinks"]["early"]["samples_with_infinity"], 1);
  EXPECT_EQ(object["sinks"]["all"]["metrics"], object["metrics"]);
  EXPECT_EQ(object["stages"][0]["samples"], 7);
}

TEST(result_json, says_what_became_of_each_fault) {
  run_result result = sample_result();
  result.faults = {{.fault = "kill:loader,at=mb3",
                    .times = 1,
                    .after = 500ms,
                    .micro_batch = 3,
                    .replayed = 7,
                    .duplicates_dropped = 2},
                   {.fault = "kill:worker=1,at=9s", .note = "not injected: target gone"}};
  EXPECT_EQ(json::parse(result_json(result).text)["faults"],
            json::parse(R"([{"fault": "kill:loader,at=mb3", "times": 1, "seconds": 0.5, "micro_batch": 3,
                             "recovery_seconds": null, "replayed": 7, "duplicates_dropped": 2, "note": null},
                            {"fault": "kill:worker=1,at=9s", "times": 0, "seconds": null, "micro_batch": null,
                             "recovery_seconds": null, "replayed": 0, "duplicates_dropped": 0,
                             "note": "not injected: target gone"}])"));
}

TEST(result_json, keeps_counts_whole_and_doubles_to_the_bit) {
  const json object = json::parse(result_json(sample_result()).text);
  EXPECT_EQ(object["schema_version"], 2);
  EXPECT_TRUE(object["metrics"]["accuracy"]["correct"].is_number_unsigned());
  EXPECT_EQ(object["metrics"]["accuracy"]["correct"], 9);
  EXPECT_EQ(object["metrics"]["per_class_accuracy"]["correct"], json::parse("[5, 4]"));
  EXPECT_EQ(object["delivery"]["duplicates_dropped"], 2);
  EXPECT_EQ(object["wall_seconds"].get<double>(), 1.234567891);
  EXPECT_EQ(object["samples_per_second"].get<double>(), 1.0 / 3.0);
  EXPECT_EQ(object["stages"][0]["layers"], json::parse(R"(["0 Conv2d", "1 ReLU"])"));
  EXPECT_TRUE(object["faults"].is_array());
  EXPECT_EQ(object["config"]["threads"], 1);
  EXPECT_TRUE(object["config"]["limit"].is_null());
}

TEST(result_json, writes_what_json_has_no_number_for_as_strings_and_warns) {
  run_result result = sample_result();
  const double infinity = std::numeric_limits<double>::infinity();
  result.metrics = {{"nll", {{"mean", false, false, {std::nan("")}, {}}, {"sum", false, false, {infinity}, {}}}},
                    {"per_class_accuracy", {{"value", true, false, {1.0, -infinity}, {}}}}};
  const json_report report = result_json(result);
  const json object = json::parse(report.text);
  EXPECT_EQ(object["metrics"]["nll"]["mean"], "NaN");
  EXPECT_EQ(object["metrics"]["nll"]["sum"], "Infinity");
  EXPECT_EQ(object["metrics"]["per_class_accuracy"]["value"], json::parse(R"([1.0, "-Infinity"])"));
  EXPECT_THAT(report.warnings,
              ElementsAre(HasSubstr("metrics.nll.mean is NaN"), HasSubstr("metrics.nll.sum is Infinity"),
                          HasSubstr("metrics.per_class_accuracy.value[1] is -Infinity")));
  EXPECT_THAT(result_json(sample_result()).warnings, IsEmpty());
}

TEST(result_json, of_a_partial_result_says_so_and_why) {
  run_result result = sample_result();
  result.partial = true;
  result.errors = {{error_code::interrupted, "eval", "stopped", "run it again"}};
  const json object = json::parse(result_json(result).text);
  EXPECT_EQ(object["partial"], true);
  EXPECT_EQ(object["errors"],
            json::parse(R"([{"code": "E0606", "where": "eval", "cause": "stopped", "fix": "run it again"}])"));
}

TEST(result_json, survives_a_file_name_that_is_not_utf8) {
  run_result result = sample_result();
  result.model = "a\xff\"b.pt";
  EXPECT_EQ(json::parse(result_json(result).text)["model"], "a\xEF\xBF\xBD\"b.pt");
}

}  // namespace
}  // namespace troupe
