// Goal: `troupe eval --predictions` writes each sample once, with what PyTorch's interpreter predicts for it, and the
// same bytes after kills and a resumed journal. Method: LeNet on MNIST; classes and probabilities against
// torch::jit and at::softmax in double; files of disturbed runs against that of an undisturbed one.
#include <csignal>
#include <sstream>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/jit/serialization/import.h>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::int64_t samples = 2400;

std::string model_path() {
  return fs::absolute(data_dir() / "mnist/lenet.pt").string();
}
std::string data_path() {
  return "mnist:" + fs::absolute(data_dir() / "mnist").string();
}

class predictions : public ::testing::Test {
 protected:
  program_outcome eval(std::vector<std::string> more, std::function<std::vector<int>()> on_tick = {}) const {
    std::vector<std::string> all = {"eval",      "--model",   model_path(), "--data",  data_path(), "--micro-batch",
                                    "8",         "--threads", "1",          "--limit", "2400",      "--json",
                                    "--metrics", "accuracy",  "--optimize", "none"};
    all.insert(all.end(), more.begin(), more.end());
    program_call call{.arguments = std::move(all)};
    call.directory = directory_.path().string();
    call.on_tick = std::move(on_tick);
    return run_troupe(call);
  }

  [[nodiscard]] std::string written(const std::string& name, std::vector<std::string> more) const {
    more.insert(more.end(), {"--predictions", name, "--predictions-with", "probabilities"});
    const program_outcome done = eval(std::move(more));
    EXPECT_EQ(done.status, 0) << done.err;
    return content(name);
  }
  [[nodiscard]] std::string content(const std::string& name) const { return file_content(directory_.path() / name); }

  scratch directory_;
};

TEST_F(predictions, are_those_of_pytorch_for_each_sample_once) {
  std::istringstream lines(written("p.jsonl", {"--stages", "2"}));
  const sample_block block = get(get(open_data(data_path()))->read({0, samples}));
  torch::jit::Module eager = torch::jit::load(model_path());
  eager.eval();
  const at::Tensor wanted = at::softmax(eager.forward({block.inputs.only()}).toTensor().to(at::kDouble), 1);
  std::int64_t sample = 0;
  std::int64_t right = 0;
  for (std::string line; std::getline(lines, line); ++sample) {
    const json read = json::parse(line);
    ASSERT_EQ(read["sample"], sample);
    ASSERT_EQ(read["label"], block.labels.only()[sample].item<std::int64_t>());
    ASSERT_EQ(read["prediction"], wanted[sample].argmax().item<std::int64_t>());
    right += read["prediction"] == read["label"] ? 1 : 0;
    for (std::int64_t j = 0; j < 10; ++j) {
      const double expected = wanted[sample][j].item<double>();
      ASSERT_NEAR(read["probabilities"][j].get<double>(), expected, 1e-6 + 1e-5 * expected);
    }
  }
  EXPECT_EQ(sample, samples);
  EXPECT_GT(right, samples * 97 / 100);
}

TEST_F(predictions, have_the_same_bytes_for_every_layout_and_with_kills) {
  const std::string alone = written("p.jsonl", {});
  EXPECT_EQ(written("q.jsonl", {"--stages", "3", "--replicas", "2"}), alone);
  EXPECT_EQ(written("r.jsonl", {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb17", "--fault",
                                "kill:stage=stage.0,at=mb120"}),
            alone);
  const std::string array = written("p.npy", {});
  EXPECT_EQ(array.size(), 1024U + 4 * 10 * samples);
  EXPECT_EQ(written("q.npy", {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb250"}), array);
}

TEST_F(predictions, of_a_resumed_run_are_whole) {
  const std::string alone = written("p.jsonl", {});
  const fs::path journal = directory_.path() / "run.journal";
  const std::vector<std::string> flags = {"--predictions", "q.jsonl",   "--predictions-with",
                                          "probabilities", "--journal", "run.journal"};
  const program_outcome ended = eval(flags, kill_when_grown(journal, 200'000));
  ASSERT_EQ(ended.status, 128 + SIGKILL) << ended.err;
  EXPECT_FALSE(fs::exists(directory_.path() / "q.jsonl"));
  std::vector<std::string> again = flags;
  again.push_back("--resume");
  const program_outcome resumed = eval(again);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_GT(json::parse(resumed.out)["delivery"]["resumed"].get<int>(), 10);
  EXPECT_EQ(content("q.jsonl"), alone);
  // of a journal that is complete
  fs::remove(directory_.path() / "q.jsonl");
  ASSERT_EQ(eval(again).status, 0);
  EXPECT_EQ(content("q.jsonl"), alone);
}

TEST_F(predictions, of_a_journal_without_them_are_not_made_up) {
  ASSERT_EQ(eval({"--journal", "run.journal"}).status, 0);
  const program_outcome other = eval({"--journal", "run.journal", "--resume", "--predictions", "p.npy"});
  EXPECT_EQ(other.status, 3);
  EXPECT_THAT(other.err, AllOf(HasSubstr("E0801"), HasSubstr("predictions npy")));
}

TEST_F(predictions, of_a_partial_result_are_those_that_it_counts) {
  const std::string alone = written("p.jsonl", {});
  const program_outcome ended =
      eval({"--predictions", "q.jsonl", "--predictions-with", "probabilities", "--stages", "2", "--processes",
            "--deadline", "3", "--worker-timeout", "60", "--fault", "stop:stage=stage.1,at=mb40"});
  ASSERT_EQ(ended.status, 124) << ended.err;
  const std::string part = content("q.jsonl");
  const auto counted = json::parse(ended.out)["samples"].get<std::int64_t>();
  EXPECT_EQ(std::ranges::count(part, '\n'), counted);
  EXPECT_EQ(alone.substr(0, part.size()), part);
}

/// 10 MB of outputs for each micro-batch: more than a message between processes may have.
TEST_F(predictions, with_large_outputs_come_from_worker_processes) {
  constexpr std::int64_t copies = 400;
  constexpr std::int64_t count = 32;
  torch::jit::Module wide("wide");
  wide.define("def forward(self, x):\n    return x.flatten(1).relu().repeat(1, 400)\n");
  wide.save((directory_.path() / "wide.pt").string());
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> all = {"eval",
                                    "--model",
                                    "wide.pt",
                                    "--data",
                                    data_path(),
                                    "--micro-batch",
                                    "8",
                                    "--limit",
                                    std::to_string(count),
                                    "--predictions",
                                    name,
                                    "--predictions-with",
                                    "outputs"};
    all.insert(all.end(), more.begin(), more.end());
    program_call call{.arguments = std::move(all)};
    call.directory = directory_.path().string();
    return run_troupe(call);
  };
  const program_outcome done =
      run("p.npy", {"--processes", "--fault", "kill:stage=stage.0,at=mb2", "--transport", "tcp"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto data =
      get(open_data("npy:" + (directory_.path() / "p.npy").string() + "," + (directory_.path() / "p.npy").string()));
  const at::Tensor found = get(data->read({0, count})).inputs.only();
  const at::Tensor pictures = get(get(open_data(data_path()))->read({0, count})).inputs.only();
  EXPECT_TRUE(at::equal(found, pictures.to(at::kFloat).flatten(1).relu().repeat({1, copies})));
  const program_outcome refused = run("q.npy", {"--journal", "run.journal"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("E0803"), HasSubstr("a record holds")));
}

TEST_F(predictions, that_cannot_be_written_end_the_run_before_it_begins) {
  directory_.write("old.jsonl", "old");
  const auto refused = [&](std::vector<std::string> flags, int status, const std::string& code) {
    const program_outcome done = eval(std::move(flags));
    EXPECT_EQ(done.status, status) << done.err;
    EXPECT_THAT(done.err, HasSubstr(code));
  };
  refused({"--predictions", "p.csv"}, 2, "E0103");
  refused({"--predictions", "none/p.jsonl"}, 1, "E0611");
  refused({"--predictions-with", "outputs"}, 2, "E0104");
  refused({"--predictions", "p.jsonl", "--predictions-with", "logits"}, 2, "E0102");
  refused({"--predictions", "old.jsonl", "--journal", "run.journal", "--fault", "disk_full:journal,at=mb20,bytes=100"},
          1, "E0803");
  EXPECT_EQ(content("old.jsonl"), "old");
}

}  // namespace
}  // namespace troupe::testing
