// Goal: `troupe eval` answers questions as PyTorch and the scripts of transformers do, with the scores of the official
// programs, in any layout, with kills and a resumed journal; and `troupe score` gives the same of the predictions
// alone. Method: the small model of data/questions, whose make.py has recorded what they give.
#include <algorithm>
#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using json = nlohmann::json;
namespace fs = std::filesystem;

std::string file_of(const std::string& name) {
  return fs::absolute(data_dir() / "questions" / name).string();
}
json expected_of(const std::string& version) {
  return json::parse(file_content(file_of(version + ".expected.json")));
}

void expect_refused(const program_outcome& done, int status, const std::string& code, const std::string& cause) {
  EXPECT_EQ(done.status, status) << done.err;
  EXPECT_THAT(done.err, AllOf(HasSubstr(code), HasSubstr(cause)));
}

class questions : public ::testing::Test {
 protected:
  [[nodiscard]] std::string data_of(const std::string& version, const std::string& more = "") const {
    return "squad:" + file_of(version + ".json") + ",tokenizer=" + file_of("model") + ",max-length=96,stride=24" + more;
  }
  [[nodiscard]] program_outcome eval(const std::string& data, std::vector<std::string> more,
                                     std::function<std::vector<int>()> on_tick = {}) const {
    std::vector<std::string> all = {"eval", "--model", file_of("model"), "--data", data, "--threads", "1", "--json"};
    const auto add_default = [&](const std::string& flag, const std::string& value) {
      if (std::ranges::find(more, flag) == more.end()) all.insert(all.end(), {flag, value});
    };
    add_default("--metrics", "squad");
    add_default("--micro-batch", "8");
    all.insert(all.end(), more.begin(), more.end());
    return run({.arguments = std::move(all), .on_tick = std::move(on_tick)});
  }
  [[nodiscard]] program_outcome run(program_call call) const {
    call.directory = directory_.path().string();
    return run_troupe(call);
  }
  [[nodiscard]] std::string content(const std::string& name) const { return file_content(directory_.path() / name); }

  /// The predictions of a run that must give the expected ones.
  std::string answered(const std::string& version, std::vector<std::string> more) const {
    more.insert(more.end(), {"--predictions", "p.json"});
    const program_outcome done = eval(data_of(version), std::move(more));
    EXPECT_EQ(done.status, 0) << done.err;
    if (done.status != 0) return {};
    expect_metrics(json::parse(done.out)["metrics"]["squad"], expected_of(version)["metrics"]);
    EXPECT_EQ(json::parse(content("p.json")), expected_of(version)["predictions"]);
    return content("p.json");
  }
  static void expect_metrics(const json& found, const json& wanted) {
    for (const auto& [name, value] : wanted.items()) {
      ASSERT_TRUE(found.contains(name)) << name;
      EXPECT_NEAR(found[name].get<double>(), value.get<double>(), name.ends_with("_thresh") ? 1e-4 : 1e-9) << name;
    }
  }

  scratch directory_;
};

TEST_F(questions, are_answered_as_by_transformers_in_one_two_and_three_stages) {
  const program_outcome one = eval(data_of("v1"), {});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(json::parse(one.out)["samples"], expected_of("v1")["windows"]);
  const std::string answers = answered("v1", {});
  EXPECT_EQ(answered("v1", {"--stages", "2"}), answers);
  EXPECT_EQ(answered("v1", {"--stages", "3"}), answers);
}

TEST_F(questions, have_each_answer_once_where_workers_are_killed) {
  const std::string answers = answered("v2", {"--predictions-with", "probabilities"});
  const std::string candidates = content("p.nbest.json");
  EXPECT_EQ(answered("v2", {"--predictions-with", "probabilities", "--stages", "2", "--processes", "--fault",
                            "kill:stage=stage.1,at=mb7", "--fault", "kill:stage=stage.0,at=mb15"}),
            answers);
  EXPECT_EQ(content("p.nbest.json"), candidates);
}

TEST_F(questions, of_version_2_have_candidates_and_odds) {
  answered("v2", {"--predictions-with", "probabilities"});
  const json wanted = expected_of("v2");
  const json odds = json::parse(content("p.null_odds.json"));
  ASSERT_EQ(odds.size(), wanted["null_odds"].size());
  for (const auto& [id, value] : wanted["null_odds"].items()) {
    EXPECT_NEAR(odds[id].get<double>(), value.get<double>(), 1e-4) << id;
  }
  const json candidates = json::parse(content("p.nbest.json"));
  ASSERT_EQ(candidates.size(), wanted["nbest"].size());
  for (const auto& [id, list] : wanted["nbest"].items()) {
    ASSERT_GE(candidates[id].size(), list.size()) << id;
    for (std::size_t i = 0; i < 2 && i < list.size(); ++i) {  // further ones may be so close that rounding swaps them
      EXPECT_EQ(candidates[id][i]["text"], list[i]["text"]) << id;
      for (const char* field : {"probability", "start_logit", "end_logit"}) {
        EXPECT_NEAR(candidates[id][i][field].get<double>(), list[i][field].get<double>(), 1e-4) << id << field;
      }
    }
  }
}

TEST_F(questions, of_a_resumed_run_are_all_answered) {
  const std::string alone = answered("v1", {});
  const fs::path journal = directory_.path() / "run.journal";
  std::vector<std::string> again = {"--predictions", "q.json", "--journal", "run.journal"};
  std::vector<std::string> stuck = again;
  stuck.insert(stuck.end(),
               {"--stages", "2", "--processes", "--worker-timeout", "60", "--fault", "stop:stage=stage.1,at=mb12"});
  const program_outcome ended = eval(data_of("v1"), stuck, kill_when_grown(journal, 30'000));
  ASSERT_EQ(ended.status, 128 + SIGKILL) << ended.err;
  EXPECT_FALSE(fs::exists(directory_.path() / "q.json"));
  again.push_back("--resume");
  const program_outcome resumed = eval(data_of("v1"), again);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_GT(json::parse(resumed.out)["delivery"]["resumed"].get<int>(), 2);
  EXPECT_EQ(content("q.json"), alone);
  expect_metrics(json::parse(resumed.out)["metrics"]["squad"], expected_of("v1")["metrics"]);
}

TEST_F(questions, padding_and_micro_batches_change_no_answer) {
  const std::string alone = answered("v1", {});
  const program_outcome padded = eval(data_of("v1", ",padding=max-length"), {"--predictions", "p.json"});
  ASSERT_EQ(padded.status, 0) << padded.err;
  EXPECT_EQ(content("p.json"), alone);
  EXPECT_EQ(answered("v1", {"--micro-batch", "33"}), alone);
}

TEST_F(questions, a_limit_counts_the_questions_that_were_seen) {
  const program_outcome done = eval(data_of("v1"), {"--limit", "12", "--predictions", "p.json"});
  ASSERT_EQ(done.status, 0) << done.err;
  const json answers = json::parse(content("p.json"));
  EXPECT_EQ(json::parse(done.out)["metrics"]["squad"]["total"], answers.size());
  EXPECT_LE(answers.size(), 12u);
}

TEST_F(questions, are_scored_from_a_file_of_predictions_alone) {
  for (const std::string version : {"v1", "v2"}) {
    const json wanted = expected_of(version);
    directory_.write("p.json", wanted["predictions"].dump());
    const program_outcome done = run({.arguments = {"score", "--metrics", "squad", "--predictions", "p.json", "--data",
                                                    "squad:" + file_of(version + ".json"), "--json"}});
    ASSERT_EQ(done.status, 0) << done.err;
    const json found = json::parse(done.out)["metrics"]["squad"];
    for (const auto& [name, value] : wanted["metrics"].items()) {
      if (name.starts_with("best_")) continue;
      EXPECT_NEAR(found[name].get<double>(), value.get<double>(), 1e-9) << name;
    }
  }
}

TEST_F(questions, what_does_not_fit_is_an_error_that_says_what_to_do) {
  expect_refused(eval("squad:" + file_of("v1.json"), {}), 2, "E0103", "tokenizer=FOLDER");
  expect_refused(eval(data_of("v1", ",inputs=pixels"), {}), 2, "E0102",
                 "use one of: input_ids, attention_mask, token_type_ids");
  expect_refused(eval("squad:" + file_of("v1.json") + ",tokenizer=" + file_of("model") + ",max-length=16", {}), 2,
                 "E0103", "raise max-length");
  expect_refused(eval(data_of("v1"), {"--predictions", "p.json", "--metrics", "accuracy", "--score-output",
                                      "start_logits", "--score-label", "window"}),
                 2, "E0104", "--metrics squad");
  const std::string mnist = "mnist:" + fs::absolute(data_dir() / "mnist").string();
  expect_refused(run({.arguments = {"eval", "--model", fs::absolute(data_dir() / "mnist/lenet.pt").string(), "--data",
                                    mnist, "--metrics", "squad"}}),
                 2, "E0108", "squad:FILE");
  directory_.write("p.json", "{\"q1000-0\": 3}");
  expect_refused(run({.arguments = {"score", "--metrics", "squad", "--predictions", "p.json", "--data",
                                    "squad:" + file_of("v1.json")}}),
                 3, "E0303", "no text");
  std::string question;
  for (int i = 0; i < (1 << 18); ++i) question += "why ";
  directory_.write("long.json", R"({"data": [{"paragraphs": [{"context": "x", "qas": [{"id": "a", "question": ")" +
                                    question + R"(", "answers": [{"text": "x"}]}]}]}]})");
  expect_refused(eval("squad:" + (directory_.path() / "long.json").string() + ",tokenizer=" + file_of("model"), {}), 2,
                 "E0103", "question \"a\"");
}

TEST_F(questions, transcripts_and_translations_are_scored_too) {
  directory_.write("found.txt", "the cat sat on mat\nHello, world.\n");
  directory_.write("right.txt", "the cat sat on the mat\nHello, world!\n");
  const program_outcome wer = run({.arguments = {"score", "--metrics", "wer", "--predictions", "found.txt",
                                                 "--references", "right.txt", "--json"}});
  ASSERT_EQ(wer.status, 0) << wer.err;
  EXPECT_EQ(json::parse(wer.out)["metrics"]["wer"],
            json::parse(R"({"value": 0.25, "edits": 2, "words": 8, "total": 2})"));
  const program_outcome bleu = run({.arguments = {"score", "--metrics", "bleu", "--predictions", "found.txt",
                                                  "--references", "right.txt", "--json"}});
  ASSERT_EQ(bleu.status, 0) << bleu.err;
  EXPECT_NEAR(json::parse(bleu.out)["metrics"]["bleu"]["value"].get<double>(), 53.41735956899851, 1e-9);
  directory_.write("short.txt", "one line\n");
  const program_outcome other =
      run({.arguments = {"score", "--metrics", "wer", "--predictions", "found.txt", "--references", "short.txt"}});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, HasSubstr("E0304"));
}

TEST_F(questions, a_byte_order_mark_and_line_ends_of_windows_are_no_words) {
  directory_.write("found.txt", "\xef\xbb\xbfthe cat\r\nHello\r\n");
  directory_.write("right.txt", "the cat\nHello");
  const program_outcome wer = run({.arguments = {"score", "--metrics", "wer", "--predictions", "found.txt",
                                                 "--references", "right.txt", "--json"}});
  EXPECT_EQ(json::parse(wer.out)["metrics"]["wer"], json::parse(R"({"value": 0, "edits": 0, "words": 3, "total": 2})"));
}

TEST_F(questions, files_without_a_line_and_flags_of_other_metrics_are_refused) {
  directory_.write("found.txt", "one line\n");
  directory_.write("none.txt", "");
  const auto outcome = [&](const std::string& metric, const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"score", "--metrics", metric, "--predictions", file};
    all.insert(all.end(), more.begin(), more.end());
    return run({.arguments = all});
  };
  for (const std::string metric : {"wer", "bleu"}) {
    const program_outcome empty = outcome(metric, "none.txt", {"--references", "none.txt"});
    EXPECT_EQ(empty.status, 3);
    EXPECT_THAT(empty.err, AllOf(HasSubstr("E0306"), HasSubstr("none.txt: it has no line")));
    const program_outcome one = outcome(metric, "found.txt", {"--references", "none.txt"});
    EXPECT_THAT(one.err, AllOf(HasSubstr("E0304"), HasSubstr("it has 0 lines, and found.txt has 1 line\n")));
  }
  const std::string questions = "squad:" + file_of("v1.json");
  for (const auto& [metric, flag, value] :
       std::vector<std::array<std::string, 3>>{{"wer", "--tokenize", "none"},
                                               {"wer", "--smoothing", "none"},
                                               {"wer", "--data", questions},
                                               {"bleu", "--no-answer", "found.txt"},
                                               {"squad", "--references", "found.txt"}}) {
    const program_outcome idle = outcome(metric, "found.txt", {flag, value});
    EXPECT_EQ(idle.status, 2) << metric << flag;
    EXPECT_THAT(idle.err, AllOf(HasSubstr("E0104"), HasSubstr(flag), HasSubstr("leave it out")));
  }
}

TEST_F(questions, texts_that_are_none_are_refused) {
  directory_.write("bytes.txt", "fine\n\xff\n");
  directory_.write("many.txt", std::string(1'000'001, '\n'));
  const auto score = [this](const char* file) {
    return run({.arguments = {"score", "--metrics", "wer", "--predictions", file, "--references", file}});
  };
  expect_refused(score("bytes.txt"), 3, "E0303", "line 2");
  expect_refused(score("many.txt"), 3, "E0303", "more than a million lines");
  expect_refused(score("."), 3, "E0307", "directory");
  expect_refused(score("none.txt"), 3, "E0301", "no such file");
}

}  // namespace
}  // namespace troupe::testing
