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
