// Goal: data and metrics give the published answers of the models in the repository. Method: known counts of LeNet on
// all of MNIST; ResNet-20 on the first 1,000 CIFAR-10 records against one plain LibTorch computation from the raw file.
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/import.h>

#include "evaluate_model.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe {
namespace {

using testing::data_dir;
using ::testing::ElementsAre;
using testing::field_of;

TEST(known_answers, lenet_on_mnist) {
  const auto values =
      testing::evaluate_model((data_dir() / "mnist/lenet.pt").string(), "mnist:" + (data_dir() / "mnist").string(), 64,
                              {"accuracy", "nll", "cross_entropy", "per_class_accuracy", "top1"});
  EXPECT_THAT(field_of(values, "accuracy", "correct").counts, ElementsAre(9904));
  EXPECT_THAT(field_of(values, "accuracy", "total").counts, ElementsAre(10000));
  EXPECT_THAT(field_of(values, "top1", "correct").counts, ElementsAre(9904));
  EXPECT_NEAR(field_of(values, "nll", "mean").reals[0], 0.0303734, 1e-6);
  // Log-probabilities are their own log-softmax.
  EXPECT_NEAR(field_of(values, "cross_entropy", "mean").reals[0], 0.0303734, 1e-6);
  EXPECT_THAT(field_of(values, "per_class_accuracy", "correct").counts,
              ElementsAre(972, 1134, 1028, 1003, 970, 879, 942, 1020, 960, 996));
}

TEST(known_answers, resnet20_on_a_thousand_cifar10_records) {
  if (testing::sanitized) GTEST_SKIP() << testing::same_code;
  const auto path = data_dir() / "cifar10/test_batch_1000.bin";
  std::ifstream file(path, std::ios::binary);
  std::string raw{std::istreambuf_iterator<char>(file), {}};
  const at::Tensor records = at::from_blob(raw.data(), {1000, 3073}, at::kByte);
  const at::Tensor labels = records.select(1, 0).to(at::kLong);
  const at::Tensor pixels = (records.narrow(1, 1, 3072).to(at::kFloat) / 255).view({1000, 3, 32, 32});
  torch::jit::Module module = torch::jit::load((data_dir() / "cifar10/resnet20.pt").string());
  module.eval();
  const c10::InferenceMode inference;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : pixels.split(50)) parts.push_back(module.forward({part}).toTensor().clone());
  const at::Tensor outputs = at::cat(parts);
  const double loss = at::cross_entropy_loss(outputs.to(at::kDouble), labels).item<double>();
  const auto correct = static_cast<std::uint64_t>((outputs.argmax(1) == labels).sum().item<std::int64_t>());

  const auto values = testing::evaluate_model((data_dir() / "cifar10/resnet20.pt").string(), "cifar10:" + path.string(),
                                              50, {"accuracy", "cross_entropy"});
  EXPECT_THAT(field_of(values, "accuracy", "correct").counts, ElementsAre(correct));
  EXPECT_NEAR(field_of(values, "cross_entropy", "mean").reals[0], loss, 1e-6);
}

}  // namespace
}  // namespace troupe
