// Goal: no damage of a file, before or during use, gives wrong samples. Method: every byte of a packed file flipped and
// every prefix opened; files that are cut, changed, locked or deleted while they are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using testing::bytes;
using testing::changed;
using testing::cut;
using testing::dictionary;
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
  return at::equal((*data)->read({0, 20}).value().inputs.only(), wanted);
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

/// Root may read everything: gives that up while it lives.
class ordinary_user {
 public:
  ordinary_user() {
    constexpr uid_t nobody = 65534;
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(nobody), 0);
    }
  }
  ordinary_user(const ordinary_user&) = delete;
  ordinary_user& operator=(const ordinary_user&) = delete;
  ~ordinary_user() {
    if (user_ == 0) {
      EXPECT_EQ(::seteuid(user_), 0);
    }
  }

 private:
  const uid_t user_ = ::geteuid();
};

TEST(unreadable_file, is_named) {
  const scratch_directory dir;
  const std::string path = dir.write("test_batch.bin", testing::cifar_records(1));
  std::filesystem::permissions(path, std::filesystem::perms::none);
  const ordinary_user unprivileged;
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

/// A set of 4,000 samples, and the one of its files that is cut.
struct file_in_use {
  std::string name;
  std::string data;
  std::string file;
};

std::vector<file_in_use> files_in_use(const scratch_directory& dir) {
  constexpr std::uint32_t n = 4000;
  const std::string images = dir.write("t10k-images-idx3-ubyte", testing::idx_images(n));
  const std::string labels = dir.write("t10k-labels-idx1-ubyte", testing::idx_labels(n));
  const std::string records = dir.write("test_batch.bin", testing::cifar_records(n));
  const std::string inputs = dir.write("x.npy", testing::npy(dictionary("<f4", "(4000, 8)"), bytes(n * 32)));
  const std::string integers = dir.write("i.npy", testing::npy(dictionary("<i8", "(4000,)"), bytes(n * 8)));
  const std::string reals = dir.write("r.npy", testing::npy(dictionary("<f8", "(4000,)"), bytes(n * 8)));
  return {{"images", "mnist:" + dir.path(), images},
          {"labels", "mnist:" + dir.path(), labels},
          {"records", "cifar10:" + records, records},
          {"inputs", "npy:" + inputs + "," + integers, inputs},
          {"integer_labels", "npy:" + inputs + "," + integers, integers},
          {"real_labels", "npy:" + inputs + "," + reals, reals}};
}

TEST(file_cut_short_in_use, is_an_error_that_says_what_is_missing_and_never_a_signal) {
  const scratch_directory dir;
  for (const file_in_use& each : files_in_use(dir)) {
    SCOPED_TRACE(each.name);
    const bytes whole = testing::read_file(each.file);
    for (const std::size_t left : {whole.size() - 1, whole.size() / 2, std::size_t{1}, std::size_t{0}}) {
      dir.write(std::filesystem::path(each.file).filename(), whole);
      const data_set_ptr data = open_data(each.data).value();
      const sample_block before = data->read({0, 4000}).value();
      const sample_block wanted{before.inputs.only().clone(), before.labels.only().clone()};
      std::filesystem::resize_file(each.file, left);
      const expected<sample_block> block = data->read({3000, 4000});
      ASSERT_FALSE(block.has_value());
      EXPECT_EQ(block.error().code, error_code::data_truncated);
      EXPECT_EQ(block.error().where, each.file + ", byte " + std::to_string(left));
      EXPECT_THAT(block.error().cause,
                  HasSubstr("expected " + std::to_string(whole.size()) + " bytes, found " + std::to_string(left) +
                            ", " + std::to_string(whole.size() - left) + " are missing"));
      // What was read before stays what it was.
      EXPECT_TRUE(at::equal(before.inputs.only(), wanted.inputs.only()) &&
                  at::equal(before.labels.only(), wanted.labels.only()));
    }
    dir.write(std::filesystem::path(each.file).filename(), whole);
  }
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
