// Goal: the forms in which people have their arrays give the same samples as the plain one: Fortran order, big-endian
// elements, integer pictures with a type to cast to, a column of labels, labels that mean "no class". Method: files
// built here by plain loops over the values, compared with the values.
#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using testing::bytes;
using testing::dictionary;
using testing::npy;
using testing::npy_pair;
using testing::opened;
using testing::ramp;
using testing::raw;
using testing::scratch_directory;

/// What numpy.asfortranarray(values).tofile() writes for an array [a, b, c]: the first axis varies fastest.
template <class T>
std::vector<T> fortran(const std::vector<T>& values, std::size_t a, std::size_t b, std::size_t c) {
  std::vector<T> stored;
  for (std::size_t k = 0; k < c; ++k) {
    for (std::size_t j = 0; j < b; ++j) {
      for (std::size_t i = 0; i < a; ++i) stored.push_back(values[(i * b + j) * c + k]);
    }
  }
  return stored;
}

std::string fortran_dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': True, 'shape': " + shape + ", }";
}

TEST(npy_forms, fortran_order_gives_the_same_samples_as_c_order) {
  const scratch_directory dir;
  std::vector<std::int16_t> labels(7 * 2);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int16_t>(i * 3);
  const data_set_ptr data =
      opened(npy_pair(dir, npy(fortran_dictionary("<f4", "(7, 2, 3)"), raw(fortran(ramp(42), 7, 2, 3))),
                      npy(fortran_dictionary("<i2", "(7, 2)"), raw(fortran(labels, 7, 2, 1)))));
  EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(data->classes(), 40U);
  for (std::uint64_t begin = 0; begin < 7; ++begin) {
    for (std::uint64_t end = begin + 1; end <= 7; ++end) {
      const sample_block block = get(data->read({begin, end}));
      const auto first = static_cast<std::int64_t>(begin);
      const auto rows = static_cast<std::int64_t>(end - begin);
      EXPECT_TRUE(block.inputs.only().is_contiguous());
      EXPECT_TRUE(at::equal(block.inputs.only(), at::tensor(ramp(42)).reshape({7, 2, 3}).narrow(0, first, rows)));
      EXPECT_TRUE(at::equal(block.labels.only(), at::arange(14).mul(3).reshape({7, 2}).narrow(0, first, rows)));
    }
  }
  const data_set_ptr line = opened(npy_pair(dir, npy(fortran_dictionary("<f4", "(7,)"), raw(ramp(7))),
                                            npy(fortran_dictionary("<f4", "(7,)"), raw(ramp(7)))));
  EXPECT_TRUE(at::equal(get(line->read({2, 5})).inputs.only(), at::tensor(ramp(7)).narrow(0, 2, 3)));
}

template <class T>
std::vector<T> swapped(std::vector<T> values) {
  for (T& value : values) {
    auto* first = reinterpret_cast<std::uint8_t*>(&value);
    std::reverse(first, first + sizeof(T));
  }
  return values;
}

template <class T>
void expect_both_orders(const std::string& name, const std::vector<T>& values) {
  SCOPED_TRACE(name);
  const scratch_directory dir;
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  const auto read = [&](const std::string& order, const std::vector<T>& stored) {
    const bytes file = npy(dictionary(order + name, shape), raw(stored));
    return get(opened(npy_pair(dir, file, file))->read({0, values.size()}));
  };
  const sample_block little = read("<", values);
  for (const sample_block& other : {read(">", swapped(values)), read("=", values), read("", values)}) {
    ASSERT_EQ(other.inputs.only().scalar_type(), little.inputs.only().scalar_type());
    EXPECT_EQ(std::memcmp(other.inputs.only().const_data_ptr(), values.data(), values.size() * sizeof(T)), 0);
    EXPECT_TRUE(at::equal(other.labels.only(), little.labels.only()));
  }
}

TEST(npy_forms, big_endian_and_native_elements_are_read) {
  expect_both_orders<float>("f4", {0.1F, -0.0F, 3e38F});
  expect_both_orders<double>("f8", {0.1, -1e300});
  expect_both_orders<std::uint16_t>("f2", {0x3c00, 0x0001});
  expect_both_orders<std::int64_t>("i8", {70000, 7});
  expect_both_orders<std::int32_t>("i4", {70000, 7});
  expect_both_orders<std::int16_t>("i2", {300, 7});
  expect_both_orders<std::int8_t>("i1", {100, 7});
  expect_both_orders<std::uint8_t>("u1", {255, 7});
  const scratch_directory dir;
  const data_set_ptr both =
      opened(npy_pair(dir, npy(fortran_dictionary(">f4", "(5, 4)"), raw(swapped(fortran(ramp(20), 5, 4, 1)))),
                      npy(dictionary(">u8", "(5,)"), raw(swapped(std::vector<std::uint64_t>{4, 0, 2, 6, 1})))));
  EXPECT_EQ(both->classes(), 7U);
  EXPECT_TRUE(at::equal(get(both->read({0, 5})).inputs.only(), at::tensor(ramp(20)).reshape({5, 4})));
  EXPECT_TRUE(at::equal(get(both->read({1, 4})).labels.only(), at::tensor({0, 2, 6}).to(at::kLong)));
}

template <class T>
void expect_cast(const std::string& descr, const std::vector<T>& values) {
  SCOPED_TRACE(descr);
  const scratch_directory dir;
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  const std::string files =
      npy_pair(dir, npy(dictionary(descr, shape), raw(values)), npy(dictionary("|u1", shape), bytes(values.size())));
  const at::Tensor floats = get(opened(files + ",float32")->read({0, values.size()})).inputs.only();
  const at::Tensor doubles = get(opened(files + ",float64")->read({0, values.size()})).inputs.only();
  ASSERT_EQ(floats.scalar_type(), at::kFloat);
  ASSERT_EQ(doubles.scalar_type(), at::kDouble);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(floats[static_cast<std::int64_t>(i)].item<float>(), static_cast<float>(values[i]));
    EXPECT_EQ(doubles[static_cast<std::int64_t>(i)].item<double>(), static_cast<double>(values[i]));
  }
}

TEST(npy_forms, a_type_casts_inputs_of_every_type_to_their_values) {
  expect_cast<std::uint8_t>("|u1", {0, 1, 128, 255});
  expect_cast<std::uint8_t>("|b1", {0, 1});
  expect_cast<std::int8_t>("|i1", {-128, 127});
  expect_cast<std::uint16_t>("<u2", {0, 65535});
  expect_cast<std::int16_t>("<i2", {-32768, 32767});
  expect_cast<std::uint32_t>("<u4", {16777217, 4294967295});
  expect_cast<std::int32_t>("<i4", {16777217, -2147483647});
  expect_cast<std::uint64_t>("<u8", {(std::uint64_t{1} << 63) + 5, ~0ULL});
  expect_cast<std::int64_t>("<i8", {INT64_MIN, (std::int64_t{1} << 53) + 1});
}

TEST(npy_forms, a_column_of_integer_labels_is_one_class_per_sample) {
  const scratch_directory dir;
  const bytes inputs = npy(dictionary("<f4", "(3,)"), raw(ramp(3)));
  const std::vector<std::int64_t> labels = {2, 0, 1};
  const at::Tensor flat = at::tensor(labels);
  for (const std::string& header : {dictionary("<i8", "(3, 1)"), fortran_dictionary("<i8", "(3, 1)")}) {
    const data_set_ptr data = opened(npy_pair(dir, inputs, npy(header, raw(labels))));
    EXPECT_EQ(data->classes(), 3U);
    EXPECT_TRUE(at::equal(get(data->read({0, 3})).labels.only(), flat));
  }
  // one-hot labels stay as they are: mse compares them with outputs of this shape
  const std::vector<std::uint8_t> one_hot = {0, 0, 1, 1, 0, 0, 0, 1, 0};
  const data_set_ptr rows = opened(npy_pair(dir, inputs, npy(dictionary("|u1", "(3, 3)"), one_hot)));
  EXPECT_EQ(get(rows->read({0, 3})).labels.only().sizes(), (std::vector<std::int64_t>{3, 3}));
}

TEST(npy_forms, samples_with_the_ignored_label_are_left_out) {
  const std::vector<std::int64_t> labels = {-100, 2, 1, -100, -100, 0, 4, -100};
  for (const char* shape : {"(8,)", "(8, 1)"}) {
    const scratch_directory dir;
    const std::string files =
        npy_pair(dir, npy(dictionary("<f4", "(8, 2)"), raw(ramp(16))), npy(dictionary("<i8", shape), raw(labels)));
    const data_set_ptr data = opened(files + ",ignore=-100");
    EXPECT_EQ(data->name(), files + ",ignore=-100");
    EXPECT_EQ(data->classes(), 5U);
    EXPECT_EQ(data->left_out(), 4U);
    ASSERT_EQ(data->size(), 4U);
    // a plain loop
    std::vector<std::int64_t> kept;
    for (std::int64_t row = 0; row < 8; ++row) {
      if (labels[static_cast<std::size_t>(row)] != -100) kept.push_back(row);
    }
    for (std::uint64_t begin = 0; begin < 4; ++begin) {
      for (std::uint64_t end = begin + 1; end <= 4; ++end) {
        const sample_block block = get(data->read({begin, end}));
        ASSERT_EQ(block.labels.only().numel(), static_cast<std::int64_t>(end - begin));
        for (std::uint64_t i = begin; i < end; ++i) {
          const auto at = static_cast<std::int64_t>(i - begin);
          EXPECT_EQ(block.labels.only()[at].item<std::int64_t>(), labels[static_cast<std::size_t>(kept[i])]);
          EXPECT_EQ(block.inputs.only()[at][1].item<float>(), ramp(16)[static_cast<std::size_t>(kept[i]) * 2 + 1]);
        }
      }
    }
    EXPECT_EQ(data->reading(), ",ignore=-100");
    for (const char* options : {",float64,ignore=-100", ",ignore=-100,float64"}) {
      EXPECT_EQ(opened(files + options)->left_out(), 4U);
      EXPECT_EQ(opened(files + options)->reading(), ",ignore=-100,float64");
    }
  }
}

TEST(npy_forms, an_ignored_label_may_be_absent_or_a_class) {
  const scratch_directory dir;
  const std::string files =
      npy_pair(dir, npy(dictionary("<f4", "(2,)"), raw(ramp(2))), npy(dictionary("|u1", "(2,)"), {255, 1}));
  EXPECT_EQ(opened(files)->classes(), 256U);
  EXPECT_EQ(opened(files + ",ignore=255")->classes(), 2U);
  EXPECT_EQ(opened(files + ",ignore=-100")->left_out(), 0U);
  for (const char* wrong :
       {",ignore=", ",ignore=x", ",ignore=1.5", ",ignore=1,ignore=2", ",ignore=9223372036854775808"}) {
    EXPECT_EQ(open_data(files + wrong).error().code, error_code::value_out_of_range) << wrong;
  }
  const std::string all =
      npy_pair(dir, npy(dictionary("<f4", "(2,)"), raw(ramp(2))), npy(dictionary("|i1", "(2,)"), {255, 255}));
  EXPECT_EQ(open_data(all + ",ignore=-1").error().code, error_code::data_empty);
  const std::string targets =
      npy_pair(dir, npy(dictionary("<f4", "(2,)"), raw(ramp(2))), npy(dictionary("<f4", "(2,)"), raw(ramp(2))));
  EXPECT_EQ(open_data(targets + ",ignore=-1").error().code, error_code::value_out_of_range);
}

}  // namespace
}  // namespace troupe
