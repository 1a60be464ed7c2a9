// Goal: `troupe eval` on a folder of pictures and on a table gives what other programs give, with the same bits and
// each sample once where workers are killed and several threads read. Method: data/cifar10/pictures against eager
// PyTorch, data/houses against NumPy (data/README.md); files of predictions against those of an undisturbed run.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using json = nlohmann::json;

std::string in_data(const std::string& name) {
  return std::filesystem::absolute(data_dir() / name).string();
}

class tables_and_pictures : public ::testing::Test {
 protected:
  /// Metrics, and the file of predictions.
  [[nodiscard]] std::pair<json, std::string> eval(std::vector<std::string> job,
                                                  const std::vector<std::string>& more) const {
    job.insert(job.begin(), "eval");
    job.insert(job.end(), {"--micro-batch", "4", "--threads", "1", "--json", "--predictions", "p.jsonl"});
    job.insert(job.end(), more.begin(), more.end());
    const program_outcome done = run_troupe({.arguments = job, .directory = directory_.path().string()});
    EXPECT_EQ(done.status, 0) << done.err;
    if (done.status != 0) return {};
    const json result = json::parse(done.out);
    EXPECT_EQ(result["delivery"]["lost"], 0);
    return {result["metrics"], file_content(directory_.path() / "p.jsonl")};
  }

  void expect_same_bits_after_faults(const std::vector<std::string>& job, std::int64_t rows) const {
    const auto undisturbed = eval(job, {});
    EXPECT_EQ(std::ranges::count(undisturbed.second, '\n'), rows);
    for (const std::string workers : {"1", "3"}) {
      for (const std::string fault : {"kill:stage=stage.0,at=mb3", "kill:stage=stage.1,at=mb5"}) {
        SCOPED_TRACE(fault + " with " + workers + " threads");
        EXPECT_EQ(eval(job, {"--stages", "2", "--processes", "--data-workers", workers, "--fault", fault}),
                  undisturbed);
      }
    }
  }

  scratch directory_;
};

TEST_F(tables_and_pictures, a_folder_of_pictures_has_the_values_of_pytorch) {
  const std::vector<std::string> job = {"--model",   in_data("cifar10/resnet20.pt"),
                                        "--data",    "imagefolder:" + in_data("cifar10/pictures"),
                                        "--metrics", "accuracy,cross_entropy"};
  const json metrics = eval(job, {}).first;
  ASSERT_FALSE(metrics.is_null());
  EXPECT_EQ(metrics["accuracy"]["correct"], 34);
  EXPECT_NEAR(metrics["cross_entropy"]["mean"].get<double>(), 1.07610364, 1e-5);
  expect_same_bits_after_faults(job, 40);
}

TEST_F(tables_and_pictures, a_table_has_the_values_of_numpy) {
  const std::vector<std::string> job = {"--model",   in_data("houses/houses.pt"),
                                        "--data",    "csv:" + in_data("houses/houses.csv"),
                                        "--columns", "area,rooms,age",
                                        "--target",  "price",
                                        "--metrics", "mse,mae"};
  const json metrics = eval(job, {}).first;
  ASSERT_FALSE(metrics.is_null());
  EXPECT_NEAR(metrics["mse"]["mean"].get<double>(), 155.079813, 155e-5);
  EXPECT_NEAR(metrics["mae"]["mean"].get<double>(), 9.83199577, 1e-4);
  expect_same_bits_after_faults(job, 200);
}

}  // namespace
}  // namespace troupe::testing
