// Goal: folders and tar shards of pictures give the samples that torchvision's ImageFolder and transforms, and the
// image processors of transformers, give, in the same order. Method: recorded/image_sets.py made the files, and the
// checksums of all tensors.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "../../support/paths.hpp"
#include "sample_files.hpp"

namespace troupe {
namespace {

using nlohmann::json;

std::filesystem::path image_sets() {
  return testing::source_dir() / "tests/runtime/data/recorded/image_sets";
}

/// With the folder in place of "{}".
std::string in_place(std::string text) {
  for (std::size_t at = 0; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, image_sets().string());
  return text;
}

std::uint32_t crc_of(const at::Tensor& tensor) {
  return static_cast<std::uint32_t>(
      crc32_z(0, static_cast<const Bytef*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.nbytes())));
}

TEST(image_sets, are_those_of_torchvision_and_transformers) {
  const json cases = json::parse(std::ifstream(image_sets() / "cases.json"));
  ASSERT_EQ(cases.size(), 15U);
  for (const json& each : cases) {
    const data_set_ptr data = testing::opened(in_place(each["data"]));
    EXPECT_EQ(data->sample_shape(), each["shape"].get<std::vector<std::int64_t>>());
    const auto labels = each["labels"].get<std::vector<std::int64_t>>();
    ASSERT_EQ(data->size(), labels.size()) << each["data"];
    EXPECT_EQ(data->classes(), *std::max_element(labels.begin(), labels.end()) + 1);
    const sample_block block = get(data->read({0, data->size()}));
    EXPECT_TRUE(block.labels.only().equal(at::tensor(labels, at::kLong))) << each["data"];
    EXPECT_EQ(crc_of(block.inputs.only()), each["crc"].get<std::uint32_t>()) << each["data"];
  }
}

TEST(image_sets, give_the_same_sample_in_every_range) {
  const data_set_ptr data = testing::opened(in_place("webdataset:{}/shard-{09..11}.tar,resize=12,crop=11"));
  const at::Tensor all = get(data->read({0, data->size()})).inputs.only();
  for (std::uint64_t i = 0; i < data->size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    EXPECT_TRUE(get(data->read({i, i + 1})).inputs.only().equal(all.slice(0, row, row + 1)));
  }
}

TEST(image_sets, options_go_before_the_preset) {
  const std::string preset = in_place("imagefolder:{}/folder,preset={}/presets/clip");
  EXPECT_EQ(testing::opened(preset + ",crop=9")->sample_shape(), (std::vector<std::int64_t>{3, 9, 9}));
  const auto first = [](const std::string& specification) {
    return get(testing::opened(specification)->read({0, 1})).inputs.only();
  };
  EXPECT_FALSE(first(preset).equal(first(preset + ",interpolation=box")));
  EXPECT_FALSE(first(preset).equal(first(preset + ",std=1")));
}

TEST(image_sets, name_their_files_and_how_they_are_read) {
  const data_set_ptr data = testing::opened(in_place("imagefolder:{}/folder,crop=8,preset={}/presets/vit"));
  EXPECT_EQ(data->files().size(), 8U);
  EXPECT_THAT(data->files().back(), ::testing::EndsWith("presets/vit/preprocessor_config.json"));
  EXPECT_THAT(data->reading(), ::testing::StartsWith(",crop=8,labels-crc32c="));
  EXPECT_EQ(data->left_out(), 0U);
}

TEST(cifar100, has_fine_labels_and_coarse_ones) {
  testing::bytes records;
  for (int i = 0; i < 3; ++i) {
    records.push_back(static_cast<std::uint8_t>(19 - i));
    records.push_back(static_cast<std::uint8_t>(99 - i));
    for (std::size_t p = 0; p < 3072; ++p) records.push_back(static_cast<std::uint8_t>(i * 7 + p));
  }
  const testing::scratch_directory dir;
  dir.write("test.bin", records);
  dir.write("train.bin", records);
  const data_set_ptr fine = testing::opened("cifar100:" + dir.path());
  const data_set_ptr coarse = testing::opened("cifar100:" + dir.path() + ",coarse");
  EXPECT_EQ(fine->classes(), 100U);
  EXPECT_EQ(coarse->classes(), 20U);
  const sample_block block = get(fine->read({0, 3}));
  EXPECT_TRUE(block.labels.only().equal(at::tensor({99, 98, 97}, at::kLong)));
  EXPECT_TRUE(get(coarse->read({0, 3})).labels.only().equal(at::tensor({19, 18, 17}, at::kLong)));
  EXPECT_EQ(block.inputs.only().sizes(), (std::vector<std::int64_t>{3, 3, 32, 32}));
  EXPECT_EQ(block.inputs.only()[2].flatten()[5].item<float>(), static_cast<float>(2 * 7 + 5) / 255.0F);
  EXPECT_NE(fine->reading(), coarse->reading());
}

}  // namespace
}  // namespace troupe
