// Goal: `troupe watch` and `troupe compare` do from the command line what their pages say: each checkpoint once through
// kills of the watch, checkpoints that PyTorch writes meanwhile, models compared with the bits of each alone, also when
// a worker dies. Method: the built program on the ResNet-20 of the repository.
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using json = nlohmann::ordered_json;
using words = std::vector<std::string>;

std::string data_file(const std::string& name) {
  return fs::absolute(data_dir() / name).string();
}
words operator+(words all, const words& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const words on_mnist = {"--data", "mnist:" + data_file("mnist"), "--limit", "256", "--threads", "1", "--json"};
const words on_cifar = {"--arch",    "resnet20-cifar",
                        "--data",    "cifar10:" + data_file("cifar10/test_batch_1000.bin"),
                        "--limit",   "128",
                        "--threads", "1",
                        "--json"};

class watch_command : public ::testing::Test {
 protected:
  [[nodiscard]] std::string runs() const { return (folder_.path() / "runs").string(); }
  void appear(const std::string& name) const {
    fs::create_directories(runs());
    fs::copy_file(data_file("mnist/lenet.pt"), folder_.path() / "copy");
    fs::rename(folder_.path() / "copy", fs::path(runs()) / name);
  }
  /// What a killed watch leaves among the temporary files stays in the folder of the test.
  [[nodiscard]] program_call call(const words& more) const {
    return {.arguments = words{"watch", runs()} + on_mnist + more,
            .environment = {"TMPDIR=" + folder_.path().string()}};
  }
  [[nodiscard]] static std::vector<std::string> names(const json& result) {
    std::vector<std::string> found;
    for (const json& row : result["checkpoints"]) found.push_back(row["checkpoint"]);
    return found;
  }
  static json result_of(const program_outcome& outcome, int status = 0) {
    EXPECT_EQ(outcome.status, status) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }

  scratch folder_;
};

TEST_F(watch_command, once_keeps_a_table_and_links_the_best) {
  appear("step-2.pt");
  appear("step-1.pt");
  folder_.write("runs/step-3.pt", "half");
  const std::string scalars = (folder_.path() / "scalars.jsonl").string();
  const words more = {"--once", "--settle", "0", "--wait", "0", "--log-scalars", scalars};
  const json first = result_of(run_troupe(call(more)));
  EXPECT_THAT(names(first), ElementsAre("step-1.pt", "step-2.pt", "step-3.pt"));
  EXPECT_EQ(first["stopped"], "once");
  EXPECT_EQ(first["best"]["checkpoint"], "step-1.pt");
  EXPECT_EQ(first["failed"], 1);
  EXPECT_TRUE(first["checkpoints"][2].contains("error"));
  EXPECT_EQ(fs::read_symlink(fs::path(runs()) / "best"), "step-1.pt");
  const std::string written = file_content(scalars);
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2);
  const json alone =
      result_of(run_troupe({.arguments = words{"eval", "--model", data_file("mnist/lenet.pt")} + on_mnist}));
  EXPECT_EQ(first["checkpoints"][0]["metrics"], alone["metrics"]);
  EXPECT_EQ(result_of(run_troupe(call(more))), first) << "nothing is evaluated again";
  EXPECT_EQ(file_content(scalars), written);
}

TEST_F(watch_command, stops_after_checkpoints_without_improvement) {
  for (const char* name : {"step-1.pt", "step-2.pt", "step-3.pt", "step-4.pt"}) appear(name);
  const json result = result_of(run_troupe(call({"--patience", "2", "--settle", "0", "--monitor", "cross_entropy"})));
  EXPECT_EQ(result["stopped"], "patience");
  EXPECT_EQ(result["mode"], "min");
  EXPECT_THAT(names(result), ElementsAre("step-1.pt", "step-2.pt", "step-3.pt"));
}

TEST_F(watch_command, ends_cleanly_when_it_is_interrupted) {
  appear("step-1.pt");
  auto asked = call({"--settle", "0"});
  asked.on_stderr = [](const std::string& so_far) {
    return so_far.find("step-1.pt") != std::string::npos ? std::vector<int>{SIGINT} : std::vector<int>{};
  };
  const json result = result_of(run_troupe(asked), 130);
  EXPECT_EQ(result["stopped"], "interrupted");
  EXPECT_THAT(names(result), ElementsAre("step-1.pt"));
}

TEST_F(watch_command, goes_on_after_kills_without_repeating_one) {
  std::mt19937 random(std::random_device{}());
  for (int step = 1; step <= 4; ++step) {
    appear("step-" + std::to_string(step) + ".pt");
    auto asked = call({"--settle", "0"});
    const auto ticks = 200 + random() % 2500;
    asked.on_tick = [ticks, so_far = 0U]() mutable {
      return ++so_far == ticks ? std::vector<int>{SIGKILL} : std::vector<int>{};
    };
    EXPECT_EQ(run_troupe(asked).status, 128 + SIGKILL);
  }
  const auto found = names(result_of(run_troupe(call({"--once", "--settle", "0"}))));
  EXPECT_EQ(found.size(), 4U);
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 4U);
}

TEST_F(watch_command, refuses_what_does_not_fit) {
  appear("step-1.pt");
  const auto told = [&](const words& more) { return run_troupe(call(more)).err; };
  EXPECT_THAT(told({"--weights", "x"}), HasSubstr("E0104"));
  EXPECT_THAT(told({"--monitor", "acuracy"}), HasSubstr("--monitor"));
  EXPECT_THAT(told({"--mode", "maximum"}), HasSubstr("write --mode max or --mode min"));
  EXPECT_THAT(told({"--patience", "0"}), HasSubstr("E0103"));
  EXPECT_THAT(run_troupe({.arguments = words{"watch", "none"} + on_mnist}).err, HasSubstr("there is no such folder"));
  EXPECT_EQ(run_troupe(call({"--once", "--settle", "0"})).status, 0);
  EXPECT_THAT(told({"--once", "--micro-batch", "32"}), HasSubstr("begun with 64"));
}

/// PyTorch writes three checkpoints while the watch runs; the rest of the second one when it is told, through a FIFO,
/// that the watch has looked at the first half.
constexpr const char* training = R"(
import os, select, sys, torch
source, folder, fifo = sys.argv[1:]
told = os.open(fifo, os.O_RDWR)
weights = torch.load(source, map_location="cpu", weights_only=False)["state_dict"]
for step in (10, 20, 30):
    path = os.path.join(folder, f"step-{step}.pt")
    torch.save({"state_dict": weights}, path + ".tmp")
    if step == 20:
        content = open(path + ".tmp", "rb").read()
        with open(path, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            assert select.select([told], [], [], 60)[0], "the first half was not looked at"
            file.write(content[len(content) // 2 :])
    else:
        os.replace(path + ".tmp", path)
    weights = {name: tensor * 0.5 if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
)";

TEST_F(watch_command, evaluates_what_pytorch_writes_meanwhile) {
  const char* given = std::getenv("TROUPE_TORCH_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  if (given == nullptr && std::system((python + " -c 'import torch' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "python3 has no torch; name a Python that has it in TROUPE_TORCH_PYTHON";
  }
  folder_.write("training.py", training);
  fs::create_directories(runs());
  program_call asked{.arguments = words{"watch", runs()} + on_cifar +
                                  words{"--patience", "2", "--timeout", "90", "--settle", "0.3"}};
  const std::string fifo = (folder_.path() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  asked.on_stderr = [&, is_told = false](const std::string& so_far) mutable -> std::vector<int> {
    if (!is_told && so_far.find("step-20.pt  is waited for") != std::string::npos) {
      std::ofstream(fifo) << "go";
      is_told = true;
    }
    return {};
  };
  asked.on_start = [&](pid_t) {
    const std::string script = (folder_.path() / "training.py").string();
    EXPECT_EQ(
        std::system((python + " " + script + " " + data_file("cifar10/resnet20.th") + " " + runs() + " " + fifo + " &")
                        .c_str()),
        0);
  };
  const json result = result_of(run_troupe(asked));
  EXPECT_THAT(names(result), ElementsAre("step-10.pt", "step-20.pt", "step-30.pt"));
  EXPECT_EQ(result["failed"], 0);
  const json alone =
      result_of(run_troupe({.arguments = words{"eval", "--weights", data_file("cifar10/resnet20.th")} + on_cifar}));
  EXPECT_EQ(result["checkpoints"][0]["metrics"], alone["metrics"]);
  EXPECT_EQ(result["best"]["checkpoint"], "step-10.pt");
}

class compare_command : public watch_command {};

TEST_F(compare_command, gives_each_model_the_bits_that_it_has_alone) {
  const words models = {data_file("mnist/lenet.pt"), data_file("mnist/digits.pt")};
  const words more = {"--metrics", "accuracy,cross_entropy,f1,confusion_matrix", "--resamples", "50", "--seed", "3"};
  const json result = result_of(run_troupe({.arguments = words{"compare"} + models + on_mnist + more}));
  const words metrics = {"--metrics", "accuracy,cross_entropy,f1,confusion_matrix"};
  std::vector<double> accuracies;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const json alone = result_of(run_troupe({.arguments = words{"eval", "--model", models[i]} + on_mnist + metrics}));
    EXPECT_EQ(result["models"][i]["metrics"].dump(), alone["metrics"].dump());
    accuracies.push_back(alone["metrics"]["accuracy"]["value"]);
  }
  EXPECT_NE(accuracies[0], accuracies[1]);
  EXPECT_EQ(result["samples"], 256);
  const json& differences = result["models"][1]["differences"];
  ASSERT_EQ(differences.size(), 4U);
  EXPECT_EQ(differences[0]["difference"], accuracies[1] - accuracies[0]);
  EXPECT_FALSE(differences[0]["interval"].is_null());
  EXPECT_FALSE(differences[0]["mcnemar"].is_null());
  EXPECT_TRUE(differences[1]["mcnemar"].is_null());
  EXPECT_TRUE(differences[2]["interval"].is_null()) << "f1 keeps too much of a sample";
  EXPECT_EQ(differences[3]["difference"], "NaN");
}

TEST_F(compare_command, has_the_same_bits_when_a_worker_dies) {
  const words models = {"compare", data_file("cifar10/resnet20.th"), data_file("cifar10/resnet20.th")};
  const words more = {"--resamples", "20"};
  json calm = result_of(run_troupe({.arguments = models + on_cifar + more}));
  json killed = result_of(run_troupe(
      {.arguments = models + on_cifar + more + words{"--processes", "--fault", "kill:stage=model2.0,at=mb1"}}));
  EXPECT_GT(killed["delivery"]["replayed"], 0);
  EXPECT_EQ(killed["models"].dump(), calm["models"].dump());
  EXPECT_EQ(calm["models"][1]["differences"][0]["difference"], 0.0);
}

}  // namespace
}  // namespace troupe::testing
