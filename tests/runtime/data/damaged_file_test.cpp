// Goal: no damage of a file, before or during use, gives wrong samples. Method: every byte of a packed file flipped and
// every prefix of it opened; files that are cut, changed, locked or deleted while they are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <troupe/runtime/data/data_set.hpp>

#include "sample_files.hpp"

namespace troupe {
namespace {

using testing::bytes;
using testing::changed;
using testing::cut;
using ::testing::HasSubstr;
using testing::scratch_directory;

std::string mnist(const scratch_directory& dir, const bytes& images) {
  dir.write("t10k-images-idx3-ubyte", images);
  dir.write("t10k-labels-idx1-ubyte", testing::idx_labels(20));
  return "mnist:" + dir.path();
}

/// A flip in the bits that fill deflate's last byte changes nothing, and no reader can see it.
bool refused_or_unharmed(const std::string& specification) {
  const expected<data_set_ptr> data = open_data(specification);
  if (!data) return true;
  const at::Tensor wanted = at::arange(120).to(at::kFloat).view({20, 1, 2, 3}) / 255;
  return at::equal((*data)->read({0, 20}).value().inputs, wanted);
}

TEST(damaged_gzip, no_flipped_bit_and_no_cut_changes_a_sample) {
  const bytes good = testing::gzip(testing::idx_images(20));
  const scratch_directory dir;
  ASSERT_TRUE(open_data(mnist(dir, good)).has_value());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {0, 5}) {
      const bytes flipped = changed(good, at, static_cast<std::uint8_t>(good[at] ^ (1 << bit)));
      EXPECT_TRUE(refused_or_unharmed(mnist(dir, flipped))) << "byte " << at << ", bit " << bit;
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(open_data(mnist(dir, cut(good, size))).has_value()) << size << " bytes";
  }
}

TEST(unreadable_file, is_named) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const scratch_directory dir;
  const std::string path = dir.write("test_batch.bin", testing::cifar_records(1));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const expected<data_set_ptr> data = open_data("cifar10:" + path);
  ASSERT_FALSE(data.has_value());
  EXPECT_EQ(data.error().code, error_code::data_unreadable);
}

TEST(changed_file, is_an_error_of_the_next_read) {
  const scratch_directory dir;
  const std::string path = dir.write("test_batch.bin", testing::cifar_records(3));
  const data_set_ptr data = open_data("cifar10:" + path).value();
  ASSERT_TRUE(data->read({0, 3}).has_value());
  std::filesystem::resize_file(path, 5000);
  const expected<sample_block> block = data->read({0, 3});
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, error_code::data_truncated);
  EXPECT_THAT(to_string(block.error()), HasSubstr("expected 9219 bytes, found 5000"));
}

TEST(overwritten_file, is_an_error_of_the_next_read) {
  const scratch_directory dir;
  const std::string path = dir.write("test_batch.bin", testing::cifar_records(3));
  const data_set_ptr data = open_data("cifar10:" + path).value();
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(5));
  const expected<sample_block> block = data->read({0, 3});
  ASSERT_FALSE(block.has_value());
  EXPECT_EQ(block.error().code, error_code::data_unreadable);
}

TEST(deleted_file, stays_readable) {
  const scratch_directory dir;
  const std::string path = dir.write("test_batch.bin", testing::cifar_records(3));
  const data_set_ptr data = open_data("cifar10:" + path).value();
  std::filesystem::remove(path);
  EXPECT_TRUE(data->read({0, 3}).has_value());
}

}  // namespace
}  // namespace troupe
