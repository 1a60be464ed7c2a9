// Goal: trained weights of pictures that are published give their known answers, from the file as it is. Method: the
// files that recorded/known_pictures.py makes; the probabilities are those of the weights' own package in PyTorch.
#include <array>

#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include "runtime/architecture/read_built_in.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

std::filesystem::path folder() {
  return full_data_dir() / "models/efficientnet-lite0";
}

TEST(known_pictures, are_an_espresso_a_cat_and_a_missile) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << folder() << " is not there";
  const auto pictures = load_weights(folder() / "pictures.safetensors");
  ASSERT_TRUE(pictures) << to_string(pictures.error());
  auto model =
      read_built_in({.arch = "efficientnet-lite0", .weights = (folder() / "efficientnet-lite0-57934424.pth").string()});
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const layered_graph layers(std::move(*model), layer_unit::modules);
  const std::size_t count = layers.layers().size();
  const std::size_t middle = count / 2;
  const at::Tensor whole = graph_code(layers.part(0, count)).run({pictures->front().tensor}).at(0);
  auto between = graph_code(layers.part(0, middle)).run({pictures->front().tensor});
  EXPECT_TRUE(at::equal(graph_code(layers.part(middle, count)).run(std::move(between)).at(0), whole));
  const at::Tensor probabilities = whole.softmax(1);
  const auto probability = [&](int picture, int label) { return probabilities[picture][label].item<double>(); };
  EXPECT_NEAR(probability(0, 967), 0.940, 0.0005) << "espresso";
  EXPECT_NEAR(probability(1, 285), 0.385, 0.0005) << "Egyptian cat";
  EXPECT_NEAR(probability(1, 282), 0.332, 0.0005) << "tiger cat";
  EXPECT_NEAR(probability(2, 657), 0.223, 0.0005) << "missile";
}

/// The same files as a data set. The numbers are those of the weights' own package in PyTorch, behind torchvision's
/// ImageFolder, Resize(256, BICUBIC), CenterCrop(224), ToTensor() and Normalize(0.498, 0.502).
TEST(known_pictures, have_the_probabilities_of_pytorch_as_a_folder) {
  if (!std::filesystem::exists(folder() / "pictures")) GTEST_SKIP() << folder() << " has no pictures";
  const auto data = open_data("imagefolder:" + (folder() / "pictures").string() +
                              ",resize=256,crop=224,interpolation=bicubic,mean=0.498,std=0.502");
  ASSERT_TRUE(data) << to_string(data.error());
  const auto block = (*data)->read({0, 3});
  ASSERT_TRUE(block) << to_string(block.error());
  auto model =
      read_built_in({.arch = "efficientnet-lite0", .weights = (folder() / "efficientnet-lite0-57934424.pth").string()});
  ASSERT_TRUE(model) << to_string(model.error());
  const c10::InferenceMode inference;
  const layered_graph layers(std::move(*model), layer_unit::modules);
  const auto part = layers.part(0, layers.layers().size());
  const at::Tensor probabilities = graph_code(part).run({block->inputs.only()}).at(0).softmax(1);
  const std::array known{std::pair(967, 0.951055), std::pair(282, 0.394591), std::pair(657, 0.272200)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(probabilities[i].argmax().item<std::int64_t>(), known[i].first);
    EXPECT_NEAR(probabilities[i].max().item<double>(), known[i].second, 1e-5);
  }
  EXPECT_NEAR(probabilities[1][285].item<double>(), 0.355045, 1e-5) << "Egyptian cat";
}

}  // namespace
}  // namespace troupe::testing
