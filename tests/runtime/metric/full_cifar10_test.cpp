// Goal: the published answers of ResNet-20 on all 10,000 CIFAR-10 records. Method: the full file, which is beside the
// repository or at TROUPE_DATA_DIR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evaluate_model.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using testing::field_of;

TEST(full_cifar10, resnet20) {
  const auto data = testing::full_data_dir() / "cifar10/test_batch.bin";
  const auto values =
      testing::evaluate_model((testing::data_dir() / "cifar10/resnet20.pt").string(), "cifar10:" + data.string(), 64,
                              {"accuracy", "cross_entropy", "per_class_accuracy"});
  EXPECT_THAT(field_of(values, "accuracy", "correct").counts, ElementsAre(8103));
  EXPECT_NEAR(field_of(values, "cross_entropy", "mean").reals[0], 0.8787963, 1e-6);
  EXPECT_THAT(field_of(values, "per_class_accuracy", "correct").counts,
              ElementsAre(748, 775, 680, 700, 905, 709, 873, 841, 929, 943));
}

}  // namespace
}  // namespace troupe
