// Goal: what `troupe train` advises after a failure works when it is followed to the letter, and costs nothing: losses
// and weights are those of a training that was not disturbed. It tells which samples a failure is about, and which ones
// the data leave out. Method: the built program; folders of --save whose files are damaged; data with one bad sample.
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
using words = std::vector<std::string>;
namespace fs = std::filesystem;

std::string data(const std::string& name) {
  return fs::absolute(data_dir() / name).string();
}

words lenet(const words& more) {
  words all = {"train",
               "--model",
               data("mnist/lenet.pt"),
               "--data",
               "mnist:" + data("mnist"),
               "--loss",
               "nll",
               "--lr",
               "0.001",
               "--limit",
               "40",
               "--micro-batch",
               "8",
               "--json",
               "--optimizer",
               "adam",
               "--threads",
               "1"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

json trained(const words& arguments) {
  const auto outcome = run_troupe({.arguments = arguments});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return json::parse(outcome.out, nullptr, false);
}

/// The text of the error.
std::string refused(const words& arguments, int status) {
  const auto outcome = run_troupe({.arguments = arguments});
  EXPECT_EQ(outcome.status, status) << outcome.err;
  return outcome.err;
}

void expect_same(const json& one, const json& other) {
  EXPECT_EQ(one["losses"], other["losses"]);
  EXPECT_EQ(one["weights_sha256"], other["weights_sha256"]);
}

class saved_training : public ::testing::Test {
 protected:
  void SetUp() override {
    whole_ = trained(lenet({"--steps", "6"}));
    trained(saving({"--steps", "4", "--save-every", "2"}));
  }
  [[nodiscard]] fs::path folder() const { return scratch_.path() / "saved"; }
  [[nodiscard]] fs::path newest() const { return folder() / "global_step4"; }
  [[nodiscard]] words saving(const words& more) const {
    words all = lenet({"--save", folder().string()});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] words resuming() const { return saving({"--steps", "6", "--resume"}); }
  void write(const std::string& name, const std::string& content) const { scratch_.write("saved/" + name, content); }
  void flip(const std::string& name) const {
    std::string bytes = file_content(folder() / name);
    bytes[bytes.size() / 2] ^= 1;
    write(name, bytes);
  }
  void expect_goes_on_from_the_older_one(const std::string& code) const {
    const std::string told = refused(resuming(), 3);
    EXPECT_THAT(told, HasSubstr("error " + code));
    EXPECT_THAT(told, HasSubstr("write global_step2 into " + (folder() / "latest").string()));
    write("latest", "global_step2");
    expect_same(trained(resuming()), whole_);
  }

  scratch scratch_;
  json whole_;
};

TEST_F(saved_training, goes_on_from_an_older_checkpoint_where_a_file_of_the_newest_is_damaged) {
  flip("global_step4/layer_05-model_states.pt");
  expect_goes_on_from_the_older_one("E0210");
}

TEST_F(saved_training, goes_on_from_an_older_checkpoint_where_the_optimizer_of_the_newest_is_missing) {
  fs::remove(newest() / "optimizer.safetensors");
  expect_goes_on_from_the_older_one("E0201");
}

TEST_F(saved_training, goes_on_from_an_older_checkpoint_where_a_layer_of_the_newest_is_missing) {
  fs::remove(newest() / "layer_05-model_states.pt");
  expect_goes_on_from_the_older_one("E0218");
}

TEST_F(saved_training, goes_on_from_an_older_checkpoint_where_the_state_of_the_newest_is_missing) {
  fs::remove(newest() / "mp_rank_00_model_states.pt");
  expect_goes_on_from_the_older_one("E0210");
}

TEST_F(saved_training, goes_on_from_an_older_checkpoint_where_the_newest_is_missing) {
  fs::remove_all(newest());
  expect_goes_on_from_the_older_one("E0201");
}

TEST_F(saved_training, without_another_checkpoint_begins_another_training) {
  fs::remove_all(folder() / "global_step2");
  flip("global_step4/layer_01-model_states.pt");
  EXPECT_THAT(refused(resuming(), 3), HasSubstr("fix: begin another training in another folder (--save)"));
}

TEST_F(saved_training, of_another_model_is_told_so) {
  const words other = {"train",
                       "--model",
                       data("cifar10/resnet20.pt"),
                       "--data",
                       "cifar10:" + data("cifar10/test_batch_1000.bin"),
                       "--limit",
                       "40",
                       "--steps",
                       "6",
                       "--threads",
                       "1",
                       "--save",
                       folder().string(),
                       "--resume"};
  const std::string told = refused(other, 3);
  EXPECT_THAT(told, HasSubstr("error E0218"));
  EXPECT_THAT(told, HasSubstr("fix: give the model that the training was begun with, or "));
  expect_same(trained(resuming()), whole_);
}

TEST_F(saved_training, goes_on_without_a_journal_that_is_damaged) {
  flip("journal");
  const std::string told = refused(resuming(), 3);
  EXPECT_THAT(told, HasSubstr("error E0802"));
  EXPECT_THAT(told, HasSubstr("fix: delete " + (folder() / "journal").string()));
  fs::remove(folder() / "journal");
  expect_same(trained(resuming()), whole_);
}

TEST_F(saved_training, goes_on_without_a_journal_that_begins_behind_the_checkpoint) {
  trained(saving({"--steps", "5", "--resume"}));  // begins a journal at step 4
  write("latest", "global_step2");
  const std::string told = refused(resuming(), 3);
  EXPECT_THAT(told, HasSubstr("error E0801"));
  EXPECT_THAT(told, HasSubstr("fix: delete " + (folder() / "journal").string()));
  fs::remove(folder() / "journal");
  expect_same(trained(resuming()), whole_);
}

TEST_F(saved_training, with_other_options_than_its_journal_begins_in_another_folder) {
  write("latest", "global_step2");  // two steps of the journal are behind it
  words other = resuming();
  other.insert(other.end(), {"--weight-decay", "0.1"});
  const std::string told = refused(other, 3);
  EXPECT_THAT(told, HasSubstr("error E0801"));
  EXPECT_THAT(told, HasSubstr("fix: use the same, or begin another training in another folder (--save)"));
  trained(lenet({"--weight-decay", "0.1", "--steps", "2", "--save", (scratch_.path() / "another").string()}));
  expect_same(trained(resuming()), whole_);
}

TEST(train_fixes, names_the_samples_of_a_step_that_fails_as_they_stand_in_the_data) {
  const scratch directory;
  std::string rows = "area,rooms,age,price\n";
  for (int i = 0; i < 40; ++i) rows += "80,3,20," + std::string(i == 33 ? "1e38" : "2") + "\n";
  directory.write("rows.csv", rows);
  const auto train = [&](const words& more) {
    words all = {"train",
                 "--model",
                 data("houses/houses.pt"),
                 "--data",
                 "csv:" + (directory.path() / "rows.csv").string() + ",target=price",
                 "--loss",
                 "mse",
                 "--epochs",
                 "1",
                 "--micro-batch",
                 "4",
                 "--lr",
                 "1e-30",
                 "--num-micro-batches",
                 "2",
                 "--threads",
                 "1"};
    all.insert(all.end(), more.begin(), more.end());
    return refused(all, 1);
  };
  const std::string in_order = train({"--order", "sequential"});
  EXPECT_THAT(in_order, HasSubstr("error E0619"));
  EXPECT_THAT(in_order, HasSubstr("samples 32 to 35 of the data"));
  const std::string shuffled = train({});
  EXPECT_THAT(shuffled, ::testing::ContainsRegex("samples ([0-9]+, )*33(, [0-9]+)* of the data")) << shuffled;
}

TEST(train_fixes, tells_which_samples_the_data_leave_out_and_which_texts_are_cut) {
  const scratch directory;
  fs::copy(data("cifar10/pictures"), directory.path() / "pictures", fs::copy_options::recursive);
  fs::path one;
  for (const auto& each : fs::recursive_directory_iterator(directory.path() / "pictures")) {
    if (each.is_regular_file()) one = each.path();
  }
  std::ofstream(one, std::ios::binary) << "no picture";
  const json pictures = trained({"train", "--model", data("cifar10/resnet20.pt"), "--data",
                                 "imagefolder:" + (directory.path() / "pictures").string() + ",skip-bad", "--steps",
                                 "1", "--micro-batch", "8", "--threads", "1", "--json"});
  EXPECT_EQ(pictures["left_out"], 1);
  EXPECT_THAT(pictures["warnings"].dump(), HasSubstr("left out: " + one.string()));
  const std::string model = data("text/classifier");
  const json texts =
      trained({"train", "--model", model, "--data",
               "csv:" + data("text/reviews.csv") + ",text=review,label=mood,max-length=8,tokenizer=" + model, "--steps",
               "1", "--micro-batch", "8", "--threads", "1", "--json"});
  EXPECT_THAT(texts["warnings"].dump(), HasSubstr("texts have more than 8 tokens, and are cut"));
  EXPECT_FALSE(texts.contains("left_out"));
}

}  // namespace
}  // namespace troupe::testing
