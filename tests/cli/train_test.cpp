// Goal: `troupe train` computes what PyTorch computes, gives the same bits for every number of stages, replicas and
// processes, whatever worker dies, goes on from its checkpoints, ends as it is told, and refuses what contradicts
// itself. Method: the built program on data/mnist; losses that PyTorch gave for the same training
// (recorded/train/record_losses.py); SHA-256 of the weights.
#include <csignal>
#include <filesystem>
#include <fstream>

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

std::string data(const std::string& name) {
  return fs::absolute(data_dir() / name).string();
}

using words = std::vector<std::string>;

words lenet(const words& more) {
  words all = {
      "train",     "--model", data("mnist/lenet.pt"), "--data", "mnist:" + data("mnist"), "--loss", "nll", "--json",
      "--threads", "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// As record_losses.py trains: steps of 30 samples, in order, the last one of each epoch with 10.
words recorded(const words& more) {
  words all = lenet(
      {"--limit", "100", "--order", "sequential", "--epochs", "3", "--micro-batch", "10", "--num-micro-batches", "3"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Three steps of an epoch, the last one with fewer samples, in another order each epoch.
words shuffled(const words& more) {
  words all = lenet({"--limit", "90", "--micro-batch", "8", "--num-micro-batches", "4", "--optimizer", "adamw", "--lr",
                     "0.0005", "--weight-decay", "0.01", "--clip-norm", "2"});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

json trained(const words& arguments, int status = 0) {
  const auto outcome = run_troupe({.arguments = arguments});
  EXPECT_EQ(outcome.status, status) << outcome.err;
  json result = json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(result.is_object()) << outcome.out << outcome.err;
  return result;
}

void expect_losses(const json& result, const std::string& optimizer) {
  const json wanted = json::parse(file_content(source_dir() / "tests/cli/recorded/train/losses.json"))[optimizer];
  ASSERT_EQ(result["losses"].size(), wanted.size());
  for (std::size_t step = 0; step < wanted.size(); ++step) {
    const auto loss = wanted[step].get<double>();
    const double tolerance = step < 8 ? 1e-6 : 1e-5;  // differences of the weights grow
    EXPECT_NEAR(result["losses"][step].get<double>(), loss, tolerance * loss) << "step " << step;
  }
}

TEST(train, has_the_losses_of_pytorch) {
  const json sgd = trained(recorded({"--lr", "0.005", "--momentum", "0.9", "--weight-decay", "0.001", "--nesterov"}));
  expect_losses(sgd, "sgd");
  EXPECT_EQ(sgd["steps"], 12);
  EXPECT_EQ(sgd["epochs"], 3);
  EXPECT_EQ(sgd["samples"], 300);
  EXPECT_EQ(sgd["micro_batches"], 30);
  expect_losses(trained(recorded({"--optimizer", "adamw", "--lr", "1e-4", "--weight-decay", "0.05", "--clip-norm", "1",
                                  "--stages", "3"})),
                "adamw");
}

TEST(train, gives_the_same_bits_however_it_is_cut_and_whoever_dies) {
  const json alone = trained(shuffled({"--epochs", "2"}));
  const std::vector<words> others = {
      {"--stages", "3", "--data-workers", "2"},
      {"--stages", "2", "--replicas", "2", "--recompute-interval", "2"},
      {"--stages", "2", "--processes", "--fault", "kill:stage=stage.1,at=mb2", "--fault", "kill:stage=stage.0,at=mb3"},
      {"--stages", "2", "--eval-data", "mnist:" + data("mnist"), "--eval-every", "4", "--metrics", "accuracy"}};
  for (const words& each : others) {
    words all = shuffled({"--epochs", "2"});
    all.insert(all.end(), each.begin(), each.end());
    const json result = trained(all);
    EXPECT_EQ(result["weights_sha256"], alone["weights_sha256"]) << each.front();
    EXPECT_EQ(result["losses"], alone["losses"]);
    for (const json& fault : result["faults"]) EXPECT_EQ(fault["times"], 1) << fault;
  }
  EXPECT_EQ(alone["steps"], 6);
  EXPECT_NE(trained(shuffled({"--epochs", "2", "--seed", "1"}))["losses"], alone["losses"]);
}

/// It has optional inputs, masks that pass by stages, and an architecture that is built in. Texts are as long as the
/// longest of their micro-batch, in a shuffled order; how long decides nothing but the last digits.
TEST(train, gives_the_same_bits_of_a_text_classifier) {
  const std::string model = data("text/classifier");
  const words base = {"train",
                      "--model",
                      model,
                      "--data",
                      "csv:" + data("text/reviews.csv") + ",text=review,label=mood,tokenizer=" + model,
                      "--epochs",
                      "1",
                      "--lr",
                      "0.05",
                      "--threads",
                      "1",
                      "--limit",
                      "120",
                      "--json",
                      "--micro-batch",
                      "4",
                      "--num-micro-batches",
                      "4"};
  const auto with = [&](const words& more) {
    words all = base;
    all.insert(all.end(), more.begin(), more.end());
    return trained(all);
  };
  const json whole = with({});
  for (const words& more : {words{"--stages", "2", "--partition", "0,2,7"}, words{"--recompute-interval", "2"},
                            words{"--stages", "3", "--layers", "operators", "--replicas", "2"},
                            words{"--stages", "2", "--processes", "--fault", "kill:stage=0,at=mb2"}}) {
    const json made = with(more);
    EXPECT_EQ(made["losses"], whole["losses"]) << more.back();
    EXPECT_EQ(made["weights_sha256"], whole["weights_sha256"]) << more.back();
  }
  const json longer = with({"--padding", "max-length"});
  ASSERT_EQ(longer["losses"].size(), whole["losses"].size());
  for (std::size_t step = 0; step < longer["losses"].size(); ++step) {
    EXPECT_NEAR(longer["losses"][step].get<double>(), whole["losses"][step].get<double>(), 1e-5) << "step " << step;
  }
}

TEST(train, goes_on_from_a_checkpoint_with_the_same_bits) {
  const scratch directory;
  const std::string folder = (directory.path() / "saved").string();
  const std::string file = (directory.path() / "w.safetensors").string();
  const json whole = trained(shuffled({"--epochs", "3"}));
  const json first = trained(shuffled({"--steps", "5", "--save", folder, "--save-every", "2"}));
  EXPECT_EQ(first["steps"], 5);
  for (const char* tag : {"global_step2", "global_step4", "global_step5"}) {
    EXPECT_TRUE(fs::exists(fs::path(folder) / tag)) << tag;
  }
  const json rest = trained(shuffled(
      {"--epochs", "3", "--save", folder, "--resume", "--stages", "2", "--replicas", "2", "--save-weights", file}));
  EXPECT_EQ(rest["steps_before"], 5);
  EXPECT_EQ(rest["steps"], 9);
  EXPECT_EQ(rest["losses"], whole["losses"]);
  EXPECT_EQ(rest["weights_sha256"], whole["weights_sha256"]);
  const auto evaluated =
      run_troupe({.arguments = {"eval", "--model", data("mnist/lenet.pt"), "--weights", file, "--data",
                                "mnist:" + data("mnist"), "--limit", "100", "--threads", "1"}});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
}

/// The first picture is a 7, and so are others.
TEST(train, goes_on_behind_steps_without_a_sample_that_counts) {
  const scratch folder;
  const words of_one = {"--micro-batch", "1", "--order", "sequential", "--loss", "nll:ignore_index=7"};
  words all = {"train",     "--model", data("mnist/lenet.pt"), "--data", "mnist:" + data("mnist"), "--json",
               "--threads", "1"};
  all.insert(all.end(), of_one.begin(), of_one.end());
  const auto with = [&](const words& more) {
    words made = all;
    made.insert(made.end(), more.begin(), more.end());
    return trained(made);
  };
  const json whole = with({"--steps", "20"});
  ASSERT_EQ(whole["losses"].size(), 20);
  EXPECT_FALSE(whole["losses"][0].is_number()) << "there is none";
  EXPECT_TRUE(whole["losses"][1].is_number());
  const std::string save = (folder.path() / "save").string();
  with({"--steps", "1", "--save", save});
  with({"--steps", "9", "--save", save, "--resume"});
  const json resumed = with({"--steps", "20", "--save", save, "--resume"});
  EXPECT_EQ(resumed["losses"], whole["losses"]);
  EXPECT_EQ(resumed["weights_sha256"], whole["weights_sha256"]);
}

/// The position in the data is a sample, and not a number of steps.
TEST(train, goes_on_at_the_same_sample_with_other_micro_batches) {
  const scratch directory;
  const std::string folder = (directory.path() / "saved").string();
  trained(shuffled({"--steps", "2", "--save", folder}));  // 64 samples
  const json rest = trained(lenet({"--limit", "90", "--micro-batch", "13", "--epochs", "1", "--optimizer", "adamw",
                                   "--lr", "0.0005", "--save", folder, "--resume"}));
  EXPECT_EQ(rest["samples"], 26);
  EXPECT_EQ(rest["steps"], 4);
}

TEST(train, ends_early_when_evaluations_are_no_better) {
  const json result =
      trained(lenet({"--limit", "90", "--micro-batch", "32", "--steps", "1000", "--lr", "1e-20", "--eval-data",
                     "mnist:" + data("mnist"), "--eval-every", "2", "--patience", "2", "--metrics", "accuracy"}));
  EXPECT_EQ(result["stopped_early"], true);
  EXPECT_EQ(result["steps"], 6);
  EXPECT_EQ(result["best_step"], 2);
  EXPECT_EQ(result["evaluations"].size(), 3U);
  EXPECT_EQ(result["evaluations"][0]["metrics"]["accuracy"]["correct"], 9904);
}

TEST(train, has_no_best_step_where_the_first_metric_is_no_number) {
  words all = lenet({"--limit", "60", "--micro-batch", "20", "--steps", "2", "--eval-data", "mnist:" + data("mnist"),
                     "--eval-every", "1", "--metrics", "confusion_matrix,accuracy"});
  const json result = trained(all);
  EXPECT_EQ(result["steps"], 2);
  EXPECT_TRUE(result["best_step"].is_null());
  ASSERT_EQ(result["evaluations"].size(), 2U);
  EXPECT_EQ(result["evaluations"][1]["metrics"]["confusion_matrix"]["label_0"].size(), 10U);
  std::erase(all, "--json");
  const auto shown = run_troupe({.arguments = all});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("step  samples  accuracy\n"));
  EXPECT_THAT(shown.err, HasSubstr("step 1: accuracy 0.99"));
}

TEST(train, interrupted_saves_the_step_under_way_and_goes_on) {
  const scratch directory;
  const std::string folder = (directory.path() / "saved").string();
  program_call call{.arguments = shuffled({"--steps", "100000", "--save", folder})};
  call.on_stderr = [sent = false](const std::string& so_far) mutable {
    if (sent || so_far.find("steps") == std::string::npos) return std::vector<int>{};
    sent = true;
    return std::vector<int>{SIGINT};
  };
  const auto outcome = run_troupe(call);
  ASSERT_EQ(outcome.status, 130) << outcome.err;
  const json ended = json::parse(outcome.out);
  EXPECT_EQ(ended["partial"], true);
  EXPECT_EQ(ended["errors"][0]["code"], "E0606");
  const auto steps = ended["steps"].get<std::uint64_t>();
  ASSERT_GT(steps, 0U);
  const std::string end = std::to_string(steps + 2);
  const json rest = trained(shuffled({"--steps", end, "--save", folder, "--resume"}));
  const json whole = trained(shuffled({"--steps", end}));
  EXPECT_EQ(rest["steps_before"], steps);
  EXPECT_EQ(rest["weights_sha256"], whole["weights_sha256"]);
}

TEST(train, past_its_deadline_is_partial_with_status_124) {
  const auto outcome = run_troupe({.arguments = shuffled({"--steps", "100000000", "--deadline", "2"})});
  EXPECT_EQ(outcome.status, 124) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("error E0605"));
}

struct refusal {
  words more;
  const char* code;
  const char* text;
};

TEST(train, refuses_what_contradicts_itself) {
  const std::vector<refusal> rows = {
      {{}, "E0105", "--steps"},
      {{"--steps", "2", "--epochs", "2"}, "E0104", "leave out one"},
      {{"--steps", "0"}, "E0103", "--steps"},
      {{"--steps", "2", "--loss", "cross_entrop"}, "E0102", "cross_entropy"},
      {{"--steps", "2", "--loss", "mse:ignore_index=1"}, "E0102", "write mse alone"},
      {{"--steps", "2", "--loss", "cross_entropy:label_smoothing=2"}, "E0103", "label_smoothing=0.1"},
      {{"--steps", "2", "--optimizer", "adamx"}, "E0102", "adam"},
      {{"--steps", "2", "--nesterov"}, "E0103", "momentum"},
      {{"--steps", "2", "--betas", "0.9"}, "E0103", "--betas 0.9,0.999"},
      {{"--steps", "2", "--schedule", "cosine"}, "E0103", "cosine:total=1000"},
      {{"--steps", "2", "--order", "random"}, "E0102", "shuffled"},
      {{"--steps", "2", "--patience", "2"}, "E0104", "--eval-data"},
      {{"--steps", "2", "--patience", "2", "--eval-data", "mnist:" + data("mnist"), "--metrics", "confusion_matrix"},
       "E0104",
       "--metrics"},
      {{"--steps", "2", "--eval-every", "2"}, "E0104", "--eval-data"},
      {{"--steps", "2", "--resume"}, "E0104", "--save DIR"},
      {{"--steps", "2", "--replicas", "3"}, "E0", "power of two"},
      {{"--steps", "2", "--journal", "j"}, "E0101", "leave it out"},
      {{"--steps", "2", "--transport", "tcp"}, "E0104", "--processes"},
      {{"--steps", "2", "--protect", "nothing"}, "E0102", "shadow"},
  };
  for (const refusal& each : rows) {
    words all = lenet({"--limit", "20"});
    for (const std::string& word : each.more) {
      if (word == "--loss")
        all.erase(std::find(all.begin(), all.end(), "--loss"), std::find(all.begin(), all.end(), "--json"));
    }
    all.insert(all.end(), each.more.begin(), each.more.end());
    const auto outcome = run_troupe({.arguments = all});
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(std::string("error ") + each.code));
    EXPECT_THAT(outcome.err, HasSubstr(each.text));
  }
}

/// The try-out has the data, too, also where it happens in a process of its own.
TEST(train, tells_a_model_that_does_not_take_the_data_before_it_trains) {
  for (const bool in_processes : {false, true}) {
    words all = {"train",
                 "--model",
                 data("mnist/lenet.pt"),
                 "--data",
                 "cifar10:" + data("cifar10/test_batch_1000.bin"),
                 "--steps",
                 "2",
                 "--threads",
                 "1"};
    if (in_processes) all.emplace_back("--processes");
    const auto outcome = run_troupe({.arguments = all});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.err, HasSubstr("error E0209"));
  }
}

TEST(train, leaves_the_checkpoints_of_another_training_alone) {
  const scratch directory;
  const std::string folder = (directory.path() / "saved").string();
  trained(shuffled({"--steps", "1", "--save", folder}));
  const auto again = run_troupe({.arguments = shuffled({"--steps", "1", "--save", folder})});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  const auto other = run_troupe({.arguments = shuffled({"--steps", "3", "--save", folder, "--resume", "--seed", "7"})});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("seed"));
}

}  // namespace
}  // namespace troupe::testing
