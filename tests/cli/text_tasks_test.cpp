// Goal: `troupe eval` classifies texts, scores language models, answers questions with choices and compares sentences
// as transformers, lm-evaluation-harness and sentence-transformers do, with the same bits in every layout, with kills
// and a resumed journal. Method: the small models of data/text, whose make.py has recorded what they give; the trained
// all-MiniLM-L6-v2 where it is there.
#include <cmath>
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
using json = nlohmann::json;
namespace fs = std::filesystem;

std::string place(const std::string& file) {
  return fs::absolute(data_dir() / "text" / file).string();
}

const json& known() {
  static const json read = json::parse(file_content(place("known.json")));
  return read;
}

/// A task: its command.
struct text_task {
  std::string model;
  std::string data;
  std::vector<std::string> flags;
};

const text_task classes{place("classifier"),
                        "csv:" + place("reviews.csv") + ",text=review,label=mood,tokenizer=" + place("classifier"),
                        {"--metrics", "accuracy,cross_entropy"}};
const text_task choices{place("language"),
                        "choices:" + place("questions.jsonl") + ",tokenizer=" + place("language"),
                        {"--metrics", "multiple_choice"}};
const text_task pairs{
    place("sentences"),
    "csv:" + place("pairs.csv") + ",text=one,pair=other,each-alone,target=score,tokenizer=" + place("sentences"),
    {"--metrics", "sentence_similarity", "--score-output", "sentence_embedding"}};

text_task windows_of(const json& wanted) {
  return {place("language"),
          "text:" + place("stories.txt") + ",block=" + wanted["block"].dump() + ",stride=" + wanted["stride"].dump() +
              ",tokenizer=" + place("language"),
          {"--metrics", "perplexity,token_accuracy,bits_per_byte", "--score-label", "labels"}};
}

class text_tasks : public ::testing::Test {
 protected:
  [[nodiscard]] program_outcome eval(const text_task& task, const std::vector<std::string>& more = {},
                                     std::function<std::vector<int>()> on_tick = {}) const {
    std::vector<std::string> all = {"eval",          "--model", task.model,  "--data", task.data,
                                    "--micro-batch", "7",       "--threads", "1",      "--json"};
    all.insert(all.end(), task.flags.begin(), task.flags.end());
    all.insert(all.end(), more.begin(), more.end());
    program_call call{.arguments = std::move(all)};
    call.directory = directory_.path().string();
    call.on_tick = std::move(on_tick);
    return run_troupe(call);
  }
  [[nodiscard]] json metrics(const text_task& task, const std::vector<std::string>& more = {}) const {
    const program_outcome done = eval(task, more);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.status == 0 ? json::parse(done.out)["metrics"] : json();
  }
  [[nodiscard]] json written(const std::string& name) const {
    return json::parse(file_content(directory_.path() / name));
  }

  scratch directory_;
};

TEST_F(text_tasks, classes_are_those_of_transformers) {
  const json found = metrics(classes);
  EXPECT_EQ(found["accuracy"]["correct"], known()["classes"]["correct"]);
  EXPECT_NEAR(found["cross_entropy"]["mean"].get<double>(), known()["classes"]["cross_entropy"].get<double>(), 1e-6);
}

TEST_F(text_tasks, perplexity_is_that_of_transformers) {
  for (const json& wanted : known()["language"]) {
    const json found = metrics(windows_of(wanted));
    EXPECT_EQ(found["perplexity"]["count"], wanted["tokens"]);
    EXPECT_NEAR(found["perplexity"]["value"].get<double>(), wanted["perplexity"].get<double>(), 1e-6);
    EXPECT_EQ(found["token_accuracy"]["correct"], wanted["correct"]);
    EXPECT_EQ(found["bits_per_byte"]["bytes"], wanted["bytes"]);
    EXPECT_NEAR(found["bits_per_byte"]["value"].get<double>(), wanted["bits_per_byte"].get<double>(), 1e-6);
  }
}

TEST_F(text_tasks, choices_are_those_of_the_harness) {
  const json found = metrics(choices, {"--predictions", "p.json"})["multiple_choice"];
  for (const char* field : {"acc", "acc_norm", "acc_bytes", "acc_stderr", "acc_norm_stderr"}) {
    EXPECT_NEAR(found[field].get<double>(), known()["choices"][field].get<double>(), 1e-12) << field;
  }
  const json lines = written("p.json");
  const json& wanted = known()["choices"]["questions"];
  ASSERT_EQ(lines.size(), wanted.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["question"], i);
    EXPECT_EQ(lines[i]["gold"], wanted[i]["gold"]);
    EXPECT_EQ(lines[i]["prediction"], wanted[i]["best"]);
    EXPECT_EQ(lines[i]["prediction_norm"], wanted[i]["best_norm"]);
    ASSERT_EQ(lines[i]["log_likelihoods"].size(), wanted[i]["log_likelihoods"].size());
    for (std::size_t j = 0; j < wanted[i]["log_likelihoods"].size(); ++j) {
      EXPECT_NEAR(lines[i]["log_likelihoods"][j].get<double>(), wanted[i]["log_likelihoods"][j].get<double>(), 1e-4);
    }
  }
}

TEST_F(text_tasks, cosines_are_those_of_transformers) {
  const json found = metrics(pairs, {"--predictions", "p.json"})["sentence_similarity"];
  EXPECT_EQ(found["count"], 75);
  EXPECT_NEAR(found["pearson"].get<double>(), known()["pairs"]["pearson"].get<double>(), 1e-5);
  EXPECT_NEAR(found["spearman"].get<double>(), known()["pairs"]["spearman"].get<double>(), 1e-3);
  const json lines = written("p.json");
  ASSERT_EQ(lines.size(), 75U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["pair"], i);
    EXPECT_NEAR(lines[i]["cosine"].get<double>(), known()["pairs"]["cosines"][i].get<double>(), 1e-5);
  }
}

TEST_F(text_tasks, have_the_same_bits_in_every_layout_and_with_kills) {
  const text_task language = windows_of(known()["language"][1]);
  for (const text_task* task : {&classes, &choices, &pairs, &language}) {
    const json alone = metrics(*task);
    EXPECT_EQ(metrics(*task, {"--stages", "2", "--replicas", "2"}), alone) << task->data;
    EXPECT_EQ(metrics(*task, {"--stages", "3"}), alone) << task->data;
    const program_outcome killed = eval(*task, {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb3",
                                                "--fault", "kill:stage=stage.0,at=mb9"});
    ASSERT_EQ(killed.status, 0) << killed.err;
    EXPECT_EQ(json::parse(killed.out)["metrics"], alone) << task->data;
  }
}

TEST_F(text_tasks, go_on_from_a_journal) {
  const text_task language = windows_of(known()["language"][2]);
  for (const text_task* task : {&classes, &choices, &pairs, &language}) {
    const json alone = metrics(*task, {"--predictions", task == &choices || task == &pairs ? "a.json" : "a.jsonl"});
    const fs::path journal = directory_.path() / "run.journal";
    fs::remove(journal);
    static_cast<void>(eval(*task, {"--journal", "run.journal"}, kill_when_grown(journal, 1500)));
    EXPECT_EQ(metrics(*task, {"--journal", "run.journal", "--resume"}), alone) << task->data;
  }
}

TEST_F(text_tasks, say_what_was_cut) {
  const program_outcome done = eval({classes.model, classes.data + ",max-length=12", classes.flags});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(json::parse(done.out)["warnings"].dump(), HasSubstr("of 300 texts have more than 12 tokens"));
}

/// sbert.net's quick start, from raw text.
TEST_F(text_tasks, trained_sentences_are_as_alike_as_the_model_card_says) {
  const fs::path model = full_data_dir() / "models/all-MiniLM-L6-v2";
  if (!fs::exists(model / "tokenizer.json")) GTEST_SKIP() << model << " is not there";
  directory_.write("sentences.csv",
                   "one,other\n"
                   "The weather is lovely today.,It's so sunny outside!\n"
                   "The weather is lovely today.,He drove to the stadium.\n"
                   "It's so sunny outside!,He drove to the stadium.\n");
  const text_task sentences{model.string(),
                            "csv:sentences.csv,text=one,pair=other,each-alone,tokenizer=" + model.string(),
                            {"--metrics", "sentence_similarity", "--score-output", "sentence_embedding"}};
  const json found = metrics(sentences, {"--stages", "2", "--predictions", "p.json"});
  EXPECT_EQ(found["sentence_similarity"]["count"], 3);
  const std::vector<double> published = {0.6660, 0.1046, 0.1411};
  const json lines = written("p.json");
  ASSERT_EQ(lines.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(lines[i]["cosine"].get<double>(), published[i], 5e-5);
}

}  // namespace
}  // namespace troupe::testing
