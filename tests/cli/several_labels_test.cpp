// Goal: several columns, or an array in JSON, are one label of a sample, for tables and for texts, and predictions name
// the samples, with the same bytes after a killed worker and a resumed journal. Method: what scikit-learn gives of the
// logits of eager PyTorch (several_labels/record.py); files of disturbed runs against that of an undisturbed one.
#include <csignal>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using json = nlohmann::json;
using words = std::vector<std::string>;

std::string in_folder(const std::string& name) {
  return std::filesystem::absolute(source_dir() / "tests/cli/several_labels" / name).string();
}

std::string classifier() {
  return std::filesystem::absolute(data_dir() / "text/classifier").string();
}

const json& recorded(const std::string& part) {
  static const json read = json::parse(std::ifstream(in_folder("expected.json")));
  return read[part];
}

std::string names_in(const json& wanted) {
  std::string names;
  for (const auto& [name, value] : wanted.items()) names += (names.empty() ? "" : ",") + name;
  return names;
}

class several_labels : public ::testing::Test {
 protected:
  [[nodiscard]] program_outcome run(words job, const words& more = {},
                                    std::function<std::vector<int>()> tick = {}) const {
    job.insert(job.begin(), "eval");
    job.insert(job.end(), {"--threads", "1", "--json", "--micro-batch", "7"});
    job.insert(job.end(), more.begin(), more.end());
    program_call call{.arguments = std::move(job), .directory = directory_.path().string()};
    call.on_tick = std::move(tick);
    return run_troupe(call);
  }

  void expect_values(const std::string& model, const std::string& data, const json& wanted) const {
    SCOPED_TRACE(data);
    const program_outcome done = run({"--model", model, "--data", data, "--metrics", names_in(wanted)});
    ASSERT_EQ(done.status, 0) << done.err;
    const json metrics = json::parse(done.out)["metrics"];
    for (const auto& [name, value] : wanted.items()) {
      const json& found = metrics[name];
      const char* field = found.contains("value") ? "value" : "mean";
      EXPECT_NEAR(found[field].get<double>(), value.get<double>(), 1e-6) << name;
    }
  }

  [[nodiscard]] std::string predicted(const words& job, const words& more) const {
    const program_outcome done = run(job, more);
    EXPECT_EQ(done.status, 0) << done.err;
    return file_content(directory_.path() / "p.jsonl");
  }

  scratch directory_;
};

TEST_F(several_labels, of_tables_have_the_values_of_scikit_learn) {
  const json& labels = recorded("labels");
  const json& numbers = recorded("numbers");
  const std::string csv = "csv:" + in_folder("rows.csv") + ",columns=x0+x1+x2+x3,target=";
  const std::string jsonl = "jsonl:" + in_folder("rows.jsonl") + ",columns=x,target=";
  const std::string npz = "npz:" + in_folder("rows.npz") + ",inputs=x,label=";
  expect_values(in_folder("model.pt"), csv + "rain+wind+more snow", labels);
  expect_values(in_folder("model.pt"), jsonl + "weather", labels);
  expect_values(in_folder("model.pt"), npz + "weather", labels);
  expect_values(in_folder("model.pt"), csv + "low+middle+high", numbers);
  expect_values(in_folder("model.pt"), jsonl + "t", numbers);
  expect_values(in_folder("model.pt"), npz + "t", numbers);
}

TEST_F(several_labels, of_texts_have_the_values_of_scikit_learn) {
  const std::string rest = ",tokenizer=" + classifier();
  expect_values(classifier(), "csv:" + in_folder("texts.csv") + ",text=text,target=a+b+c" + rest, recorded("texts"));
  expect_values(classifier(), "jsonl:" + in_folder("texts.jsonl") + ",text=text,target=all" + rest, recorded("texts"));
}

TEST_F(several_labels, stand_in_predictions_beside_the_ids_of_samples) {
  const words job = {
      "--model",       in_folder("model.pt"),
      "--data",        "csv:" + in_folder("rows.csv") + ",columns=x0+x1+x2+x3,target=rain+wind+more snow,id=name",
      "--metrics",     "auroc",
      "--predictions", "p.jsonl"};
  const std::string alone = predicted(job, {});
  std::istringstream lines(alone);
  std::ifstream rows(in_folder("rows.jsonl"));
  std::size_t count = 0;
  for (std::string line, row; std::getline(lines, line) && std::getline(rows, row); ++count) {
    const json read = json::parse(line);
    EXPECT_EQ(read["sample"], count);
    EXPECT_EQ(read["id"], json::parse(row)["id"]);
    EXPECT_EQ(read["label"], json::parse(row)["weather"]);
    EXPECT_EQ(read["prediction"].size(), 3U);
  }
  EXPECT_EQ(count, 60U);
  EXPECT_EQ(predicted(job, {"--stages", "2", "--replicas", "2"}), alone);
  EXPECT_EQ(predicted(job, {"--stages", "2", "--processes", "--data-workers", "2", "--fault",
                            "kill:stage=stage.0,at=mb2", "--fault", "kill:stage=stage.1,at=mb5"}),
            alone);
}

TEST_F(several_labels, and_ids_are_whole_after_a_killed_and_resumed_run) {
  std::string table = "name,a,b,c,d,label\n";
  for (int i = 0; i < 20'000; ++i) {
    table += "\"row \"\"" + std::to_string(i) + "\"\"\"," + (i % 10 == 3 ? "" : "1") + ",0.5,-1,2," +
             std::to_string(i % 3) + "\n";
  }
  directory_.write("t.csv", table);
  const words job = {"--model",  in_folder("model.pt"), "--data", "csv:t.csv,id=name,skip-empty", "--metrics",
                     "accuracy", "--predictions",       "p.jsonl"};
  const std::string alone = predicted(job, {});
  EXPECT_THAT(alone, ::testing::HasSubstr(R"({"sample": 3, "id": "row \"4\"", "label": 1)")) << "row 3 is left out";
  std::filesystem::remove(directory_.path() / "p.jsonl");
  words journaled = job;
  journaled.insert(journaled.end(), {"--journal", "run.journal"});
  const program_outcome ended = run(journaled, {}, kill_when_grown(directory_.path() / "run.journal", 100'000));
  ASSERT_EQ(ended.status, 128 + SIGKILL) << ended.err;
  const program_outcome resumed = run(journaled, {"--resume"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_GT(json::parse(resumed.out)["delivery"]["resumed"].get<int>(), 10);
  EXPECT_EQ(file_content(directory_.path() / "p.jsonl"), alone);
}

}  // namespace
}  // namespace troupe::testing
