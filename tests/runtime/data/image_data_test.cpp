// Goal: MNIST and CIFAR-10 samples are read right. Method: bits against LibTorch's own conversion of the raw bytes.
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/data/byte_image_set.hpp"
#include "sample_files.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using testing::bytes;
using testing::opened;

/// What LibTorch makes of raw bytes.
at::Tensor as_pixels(const bytes& raw, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                     const std::vector<std::int64_t>& strides) {
  const at::Tensor all =
      at::from_blob(const_cast<std::uint8_t*>(raw.data()), {static_cast<std::int64_t>(raw.size())}, at::kByte);
  return all.as_strided(sizes, strides, offset).to(at::kFloat) / 255;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() && a.is_contiguous() && b.is_contiguous() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

TEST(pixels, all_256_have_the_bits_of_torch_for_every_length_and_offset) {
  bytes in(600);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i);
  for (std::size_t begin = 0; begin < 20; ++begin) {
    for (const std::size_t count : {1, 3, 16, 31, 256, 580}) {
      std::vector<float> out(count);
      bytes_to_unit_floats(in.data() + begin, out.data(), count);
      const at::Tensor reference =
          as_pixels(in, static_cast<std::int64_t>(begin), {static_cast<std::int64_t>(count)}, {1});
      ASSERT_EQ(std::memcmp(out.data(), reference.contiguous().const_data_ptr<float>(), count * sizeof(float)), 0);
    }
  }
}

TEST(mnist, small_pair_plain_and_packed_in_every_combination) {
  for (const bool pack_images : {false, true}) {
    for (const bool pack_labels : {false, true}) {
      const testing::scratch_directory dir;
      const bytes images = testing::idx_images(25);
      const bytes labels = testing::idx_labels(25);
      dir.write("t10k-images-idx3-ubyte" + std::string(pack_images ? ".gz" : ""),
                pack_images ? testing::gzip(images) : images);
      dir.write("t10k-labels-idx1-ubyte" + std::string(pack_labels ? ".gz" : ""),
                pack_labels ? testing::gzip(labels) : labels);
      const data_set_ptr data = opened("mnist:" + dir.path());
      EXPECT_EQ(data->size(), 25U);
      EXPECT_EQ(data->classes(), 10U);
      EXPECT_EQ(data->name(), "mnist:" + dir.path());
      EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{1, 2, 3}));
      const sample_block block = data->read({3, 20}).value();
      EXPECT_TRUE(
          same_bits(block.inputs.only(), as_pixels(images, 16 + 3 * 6, {17, 1, 2, 3}, {6, 6, 3, 1}).contiguous()));
      EXPECT_TRUE(at::equal(block.labels.only(), at::remainder(at::arange(3, 20), 10)));
    }
  }
}

TEST(mnist, content_decides_what_is_packed_and_mirrors_names_are_known) {
  const testing::scratch_directory dir;
  dir.write("t10k-images.idx3-ubyte.gz", testing::idx_images(2));
  dir.write("t10k-labels.idx1-ubyte", testing::gzip(testing::idx_labels(2)));
  EXPECT_EQ(opened("mnist:" + dir.path())->size(), 2U);
}

TEST(mnist, a_file_of_images_is_taken_with_the_labels_beside_it) {
  const testing::scratch_directory dir;
  dir.write("t10k-images-idx3-ubyte", testing::idx_images(2));
  dir.write("t10k-labels-idx1-ubyte", testing::idx_labels(2));
  dir.write("train-images-idx3-ubyte.gz", testing::gzip(testing::idx_images(25)));
  dir.write("train-labels-idx1-ubyte", testing::idx_labels(25));
  dir.write("mirror-images.idx3-ubyte", testing::idx_images(7));
  dir.write("mirror-labels.idx1-ubyte.gz", testing::gzip(testing::idx_labels(7)));
  EXPECT_EQ(opened("mnist:" + dir.path())->size(), 2U);
  EXPECT_EQ(opened("mnist:" + (dir / "t10k-images-idx3-ubyte"))->size(), 2U);
  EXPECT_EQ(opened("mnist:" + (dir / "mirror-images.idx3-ubyte"))->size(), 7U);
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"}) {
    const data_set_ptr train = opened("mnist:" + (dir / name));
    EXPECT_EQ(train->size(), 25U);
    EXPECT_EQ(train->name(), "mnist:" + (dir / name));
    EXPECT_EQ(train->files(),
              (std::vector<std::string>{dir / "train-images-idx3-ubyte.gz", dir / "train-labels-idx1-ubyte"}));
  }
}

TEST(mnist, labels_above_9_are_classes) {
  const testing::scratch_directory dir;
  bytes labels = testing::idx_labels(25);
  dir.write("emnist-letters-test-images-idx3-ubyte", testing::idx_images(25));
  dir.write("emnist-letters-test-labels-idx1-ubyte", labels);
  const std::string specification = "mnist:" + (dir / "emnist-letters-test-images-idx3-ubyte");
  EXPECT_EQ(opened(specification)->classes(), 10U);
  labels[8 + 3] = 26;
  labels[8 + 4] = 11;
  dir.write("emnist-letters-test-labels-idx1-ubyte", labels);
  const data_set_ptr data = opened(specification);
  EXPECT_EQ(data->classes(), 27U);
  EXPECT_TRUE(at::equal(get(data->read({2, 5})).labels.only(), at::tensor({2, 26, 11}).to(at::kLong)));
}

TEST(mnist, a_gzip_file_may_have_several_members) {
  const testing::scratch_directory dir;
  const bytes images = testing::idx_images(9);
  bytes packed = testing::gzip({images.begin(), images.begin() + 30});
  const bytes second = testing::gzip({images.begin() + 30, images.end()});
  packed.insert(packed.end(), second.begin(), second.end());
  dir.write("t10k-images-idx3-ubyte.gz", packed);
  dir.write("t10k-labels-idx1-ubyte", testing::idx_labels(9));
  const sample_block block = opened("mnist:" + dir.path())->read({0, 9}).value();
  EXPECT_TRUE(same_bits(block.inputs.only(), as_pixels(images, 16, {9, 1, 2, 3}, {6, 6, 3, 1}).contiguous()));
}

TEST(mnist, the_real_set_has_its_published_label_counts) {
  const data_set_ptr data = opened("mnist:" + (testing::data_dir() / "mnist").string());
  ASSERT_EQ(data->size(), 10000U);
  EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{1, 28, 28}));
  const sample_block all = data->read({0, 10000}).value();
  const at::Tensor counts = at::bincount(all.labels.only());
  EXPECT_TRUE(at::equal(counts, at::tensor({980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}).to(at::kLong)));
  EXPECT_GE(all.inputs.only().min().item<float>(), 0.0F);
  EXPECT_LE(all.inputs.only().max().item<float>(), 1.0F);
  // Mean of the test images, known from the usual normalisation of this data set.
  EXPECT_NEAR(all.inputs.only().mean(at::kDouble).item<double>(), 0.1325, 5e-4);
}

TEST(cifar10, records_from_a_file_or_either_kind_of_directory) {
  const bytes records = testing::cifar_records(23);
  const at::Tensor pixels = as_pixels(records, 1, {23, 3, 32, 32}, {3073, 1024, 32, 1}).contiguous();
  const testing::scratch_directory standard;
  standard.write("test_batch.bin", records);
  standard.write("data_batch_1.bin", testing::cifar_records(1));
  const testing::scratch_directory single;
  const std::string file = single.write("mine.bin", records);
  single.write("readme.html", {'x'});
  for (const std::string& path : {standard.path(), single.path(), file}) {
    const data_set_ptr data = opened("cifar10:" + path);
    EXPECT_EQ(data->size(), 23U);
    EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{3, 32, 32}));
    const sample_block block = data->read({0, 23}).value();
    EXPECT_TRUE(same_bits(block.inputs.only(), pixels));
    EXPECT_TRUE(at::equal(block.labels.only(), at::remainder(at::arange(23), 10)));
    EXPECT_TRUE(same_bits(data->read({5, 6}).value().inputs.only(), pixels.narrow(0, 5, 1)));
  }
}

TEST(cifar10, the_sample_in_the_repository) {
  const auto path = testing::data_dir() / "cifar10/test_batch_1000.bin";
  const bytes records = testing::read_file(path);
  const data_set_ptr data = opened("cifar10:" + (testing::data_dir() / "cifar10").string());
  ASSERT_EQ(data->size(), 1000U);
  const sample_block all = data->read({0, 1000}).value();
  EXPECT_TRUE(same_bits(all.inputs.only(), as_pixels(records, 1, {1000, 3, 32, 32}, {3073, 1024, 32, 1}).contiguous()));
}

TEST(image_data, any_range_can_be_read_again_from_several_threads) {
  const data_set_ptr data = opened("mnist:" + (testing::data_dir() / "mnist").string());
  const sample_block whole = data->read({0, 2000}).value();
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t begin = t * 13; begin + 300 <= 2000; begin += 61) {
        const sample_block part = data->read({begin, begin + 300}).value();
        const auto first = static_cast<std::int64_t>(begin);
        wrong[t] += !same_bits(part.inputs.only(), whole.inputs.only().narrow(0, first, 300));
        wrong[t] += !same_bits(part.labels.only(), whole.labels.only().narrow(0, first, 300));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(image_data_death, reads_only_samples_it_has) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch has started threads
  const data_set_ptr data = opened("cifar10:" + (testing::data_dir() / "cifar10").string());
  EXPECT_DEATH(static_cast<void>(data->read({999, 1001})), "only samples of the data set");
}

}  // namespace
}  // namespace troupe
