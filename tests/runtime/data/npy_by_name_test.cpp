// Goal: several .npy files by name are inputs and labels with these names, cut to the longest sequence of a read where
// a mask says so; mistakes are told. Method: files built here, compared with the values that were put in.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using testing::bytes;
using testing::dictionary;
using ::testing::HasSubstr;
using testing::npy;
using testing::opened;
using testing::ramp;
using testing::raw;
using testing::scratch_directory;
using testing::three_classes;
using testing::three_inputs;

TEST(npy_by_name, files_are_inputs_and_labels_by_name) {
  const scratch_directory dir;
  const bytes ids = npy(dictionary("<i8", "(3, 2)"), raw(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
  const std::string text = "npy:ids=" + dir.write("i.npy", ids) + ",x=" + dir.write("x.npy", three_inputs()) +
                           ",labels=" + dir.write("y.npy", three_classes());
  const data_set_ptr data = opened(text + ",float64");
  EXPECT_EQ(data->name(), text + ",float64");
  EXPECT_EQ(data->reading(), ",ids,x,labels,float64") << "a journal tells which file is which";
  EXPECT_EQ(data->files().size(), 3U);
  const sample_block block = get(data->read({1, 3}));
  EXPECT_EQ(block.inputs.names(), "ids, x");
  EXPECT_TRUE(at::equal(block.inputs.at("ids"), at::tensor({3, 4, 5, 6}, at::kLong).reshape({2, 2})));
  EXPECT_TRUE(at::equal(block.inputs.at("x"), at::tensor(ramp(6)).to(at::kDouble).reshape({3, 2}).narrow(0, 1, 2)));
  EXPECT_TRUE(at::equal(block.labels.at("labels"), at::tensor({1, 1}, at::kLong)));
  EXPECT_EQ(get(opened(text + ",label=x")->read({0, 1})).inputs.names(), "ids, labels");
}

TEST(npy_by_name, mistakes_are_said) {
  const scratch_directory dir;
  const std::string x = dir.write("x.npy", three_inputs());
  const std::string y = dir.write("y.npy", three_classes());
  const auto refused = [](const std::string& text) { return to_string(open_data("npy:" + text).error()); };
  EXPECT_THAT(refused("x=" + x + ",y=" + y), HasSubstr("label=y"));
  EXPECT_THAT(refused("x=" + x + ",x=" + x + ",labels=" + y), HasSubstr("names \"x\" twice"));
  EXPECT_THAT(refused("x=,labels=" + y), HasSubstr("no path behind x="));
  EXPECT_THAT(refused("x=" + x + ",labels=" + y + ",label=z"), HasSubstr("no array \"z\""));
  EXPECT_THAT(refused("x=" + x + "," + y), HasSubstr("npy:NAME=FILE"));
  EXPECT_THAT(refused("x=" + dir.path() + "/none,labels=" + y), HasSubstr("E0301"));
  EXPECT_THAT(refused(x + "," + y + ",label=y"), HasSubstr("these files have none"));
  EXPECT_EQ(open_data("npy:labels=" + y).error().code, error_code::value_out_of_range);
  const std::string odd = dir.write("a=b.npy", three_inputs());
  EXPECT_TRUE(open_data("npy:" + odd + "," + y)) << "a path is no name";
}

/// Rows of 1, 3, 2 and 5 places of 6; the last sample has none.
std::vector<std::int64_t> mask_of_five() {
  return {1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
}

TEST(npy_by_name, trim_cuts_each_read_to_the_longest_row_of_its_mask) {
  const scratch_directory dir;
  const std::string ids = dir.write("ids.npy", npy(dictionary("<f4", "(5, 6, 2)"), raw(ramp(60))));
  const std::string mask = dir.write("mask.npy", npy(dictionary("<i8", "(5, 6)"), raw(mask_of_five())));
  const std::string other = dir.write("other.npy", npy(dictionary("<f4", "(5, 7)"), raw(ramp(35))));
  const std::string tags = dir.write("tags.npy", npy(dictionary("<f4", "(5, 6)"), raw(ramp(30))));
  const std::string files = "npy:ids=" + ids + ",mask=" + mask + ",other=" + other + ",labels=" + tags;
  const data_set_ptr data = opened(files + ",trim=mask");
  EXPECT_TRUE(data->has_varying_sizes());
  EXPECT_FALSE(opened(files)->has_varying_sizes());
  EXPECT_TRUE(opened(files + ",trim=mask,float64")->has_varying_sizes());
  EXPECT_EQ(data->reading(), ",ids,mask,other,labels,trim=mask");
  const std::vector<std::int64_t> lengths = {1, 3, 2, 5, 1};
  for (std::uint64_t begin = 0; begin < 5; ++begin) {
    for (std::uint64_t end = begin + 1; end <= 5; ++end) {
      const auto first = static_cast<std::int64_t>(begin);
      const auto rows = static_cast<std::int64_t>(end - begin);
      const std::int64_t kept = *std::max_element(lengths.begin() + first, lengths.begin() + first + rows);
      const sample_block block = get(data->read({begin, end}));
      const auto part = [&](const at::Tensor& whole) { return whole.narrow(0, first, rows).narrow(1, 0, kept); };
      EXPECT_TRUE(at::equal(block.inputs.at("ids"), part(at::tensor(ramp(60)).reshape({5, 6, 2}))));
      EXPECT_TRUE(at::equal(block.inputs.at("mask"), part(at::tensor(mask_of_five(), at::kLong).reshape({5, 6}))));
      EXPECT_TRUE(at::equal(block.inputs.at("other"), at::tensor(ramp(35)).reshape({5, 7}).narrow(0, first, rows)));
      EXPECT_TRUE(at::equal(block.labels.only(), part(at::tensor(ramp(30)).reshape({5, 6}))));
    }
  }
  const auto refused = [&](const std::string& options) { return to_string(open_data(files + options).error()); };
  EXPECT_THAT(refused(",trim=maks"), HasSubstr("write \"mask\""));
  EXPECT_THAT(refused(",trim=other"), HasSubstr("needs a mask of integers"));
  EXPECT_THAT(refused(",trim=mask,trim=mask"), HasSubstr("twice"));
  EXPECT_THAT(refused(",trim=mask+other"), HasSubstr("no name of an array"));
  EXPECT_THAT(to_string(open_data("npy:" + ids + "," + tags + ",trim=mask").error()), HasSubstr("have none"));
}

}  // namespace
}  // namespace troupe
