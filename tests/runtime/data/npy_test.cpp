// Goal: npy pairs are read as numpy wrote them, and nothing else is taken for one. Method: files built
// here by the format's description, values compared with what was put in; a table of malformed headers.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using ::testing::AllOf;
using testing::bytes;
using testing::dictionary;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::npy;
using testing::npy_pair;
using testing::opened;
using testing::ramp;
using testing::raw;
using testing::scratch_directory;

TEST(npy, float_inputs_and_integer_labels) {
  const scratch_directory dir;
  const data_set_ptr data =
      opened(npy_pair(dir, npy(dictionary("<f4", "(5, 2, 3)"), raw(ramp(30))),
                      npy(dictionary("<i4", "(5,)"), raw(std::vector<std::int32_t>{4, 0, 2, 6, 1}))));
  EXPECT_EQ(data->size(), 5U);
  EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(data->classes(), 7U);
  const sample_block block = data->read({1, 4}).value();
  EXPECT_TRUE(at::equal(block.inputs.only(), at::tensor(ramp(30)).reshape({5, 2, 3}).narrow(0, 1, 3)));
  EXPECT_TRUE(at::equal(block.labels.only(), at::tensor({0, 2, 6}).to(at::kLong)));
  EXPECT_EQ(block.labels.only().scalar_type(), at::kLong);
}

TEST(npy, rows_are_the_readers_own_wherever_they_are_in_the_file) {
  const scratch_directory dir;
  data_set_ptr data = opened(npy_pair(dir, npy(dictionary("<f4", "(64, 16)"), raw(ramp(1024))),
                                      npy(dictionary("<f4", "(64, 1)"), raw(ramp(64)))));
  EXPECT_EQ(data->classes(), 0U);
  sample_block first = data->read({0, 64}).value();
  const sample_block again = data->read({8, 16}).value();
  first.inputs.only().zero_();
  first.labels.only().zero_();
  data.reset();
  EXPECT_TRUE(at::equal(again.inputs.only(), at::tensor(ramp(1024)).reshape({64, 16}).narrow(0, 8, 8)));
  EXPECT_TRUE(at::equal(again.labels.only(), at::tensor(ramp(64)).reshape({64, 1}).narrow(0, 8, 8)));
}

TEST(npy, every_read_starts_where_libtorch_would_put_it) {
  const scratch_directory dir;
  const data_set_ptr data = opened(
      npy_pair(dir, npy(dictionary("<f4", "(64, 3)"), raw(ramp(192))), npy(dictionary("<f4", "(64,)"), raw(ramp(64)))));
  for (std::uint64_t begin = 0; begin < 64; ++begin) {
    const sample_block block = data->read({begin, 64}).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.inputs.only().const_data_ptr()) % limits::payload_alignment, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.labels.only().const_data_ptr()) % limits::payload_alignment, 0U);
    EXPECT_EQ(block.inputs.only()[0][2].item<float>(), ramp(192)[begin * 3 + 2]);
  }
}

TEST(npy, elements_off_their_own_alignment_are_read) {
  const scratch_directory dir;
  // Written by hand: the format asks for padding, but readers must not rely on it.
  bytes odd = npy(dictionary("<f4", "(4, 3)"), raw(ramp(12)), 1, 1);
  while (odd.size() % 4 != 3) {
    odd[8] = static_cast<std::uint8_t>(odd[8] + 1);
    odd.insert(odd.begin() + 10, ' ');
  }
  const data_set_ptr data = opened(npy_pair(dir, odd, npy(dictionary("|u1", "(4,)"), {1, 2, 3, 0})));
  EXPECT_TRUE(at::equal(data->read({0, 4}).value().inputs.only(), at::tensor(ramp(12)).reshape({4, 3})));
}

template <class T>
void expect_type(const std::string& descr, at::ScalarType type, const std::vector<T>& values) {
  SCOPED_TRACE(descr);
  const scratch_directory dir;
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  const bytes file = npy(dictionary(descr, shape), raw(values));
  const sample_block block = opened(npy_pair(dir, file, npy(dictionary("|u1", shape), bytes(values.size()))))
                                 ->read({0, values.size()})
                                 .value();
  ASSERT_EQ(block.inputs.only().scalar_type(), type);
  EXPECT_EQ(std::memcmp(block.inputs.only().const_data_ptr(), values.data(), values.size() * sizeof(T)), 0);
}

TEST(npy, a_type_behind_the_paths_casts_the_inputs) {
  const scratch_directory dir;
  const std::vector<double> values = {0.1, 1.0 / 3, -1e300};
  const std::string files =
      npy_pair(dir, npy(dictionary("<f8", "(3, 1)"), raw(values)), npy(dictionary("<f8", "(3,)"), raw(values)));
  const data_set_ptr cast = opened(files + ",float32");
  EXPECT_EQ(cast->name(), files + ",float32");
  EXPECT_EQ(cast->files().size(), 2U);
  const sample_block block = get(cast->read({0, 3}));
  EXPECT_EQ(block.inputs.only().scalar_type(), at::kFloat);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(block.inputs.only()[i][0].item<float>(), static_cast<float>(values[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(block.labels.only().scalar_type(), at::kDouble);
  EXPECT_EQ(get(opened(files + ",bfloat16")->read({0, 3})).inputs.only().scalar_type(), at::kBFloat16);
  EXPECT_EQ(get(opened(files)->read({0, 3})).inputs.only().scalar_type(), at::kDouble);

  const error unknown = open_data(files + ",float23").error();
  EXPECT_EQ(unknown.code, error_code::value_out_of_range);
  EXPECT_THAT(unknown.fix, HasSubstr("write \"float32\""));
  for (const char* wrong : {",", ",float32,", ",float32,more", ",float32,float64"}) {
    EXPECT_EQ(open_data(files + wrong).error().code, error_code::value_out_of_range) << wrong;
  }
}

TEST(npy, every_input_type_keeps_its_bits) {
  expect_type<float>("<f4", at::kFloat, {0.1F, -0.0F, 3e38F});
  expect_type<double>("<f8", at::kDouble, {0.1, -1e300});
  expect_type<std::uint16_t>("<f2", at::kHalf, {0x3c00, 0x7e00});
  expect_type<std::int64_t>("<i8", at::kLong, {INT64_MIN, 7});
  expect_type<std::int32_t>("<i4", at::kInt, {INT32_MIN, 7});
  expect_type<std::int16_t>("<i2", at::kShort, {-1, 7});
  expect_type<std::int8_t>("|i1", at::kChar, {-1, 7});
  expect_type<std::uint8_t>("|u1", at::kByte, {255, 7});
  expect_type<std::uint8_t>("<u1", at::kByte, {255, 7});
  expect_type<std::uint8_t>("|b1", at::kBool, {1, 0});
}

template <class T>
void expect_labels(const std::string& descr, const std::vector<T>& values) {
  SCOPED_TRACE(descr);
  const scratch_directory dir;
  const std::string shape = "(" + std::to_string(values.size()) + ",)";
  const data_set_ptr data = opened(
      npy_pair(dir, npy(dictionary("|u1", shape), bytes(values.size())), npy(dictionary(descr, shape), raw(values))));
  const at::Tensor labels = data->read({0, values.size()}).value().labels.only();
  ASSERT_EQ(labels.scalar_type(), at::kLong);
  std::int64_t greatest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(labels[static_cast<std::int64_t>(i)].item<std::int64_t>(), static_cast<std::int64_t>(values[i]));
    greatest = std::max(greatest, static_cast<std::int64_t>(values[i]));
  }
  EXPECT_EQ(data->classes(), greatest + 1);
}

TEST(npy, every_integer_label_type_becomes_int64) {
  expect_labels<std::uint8_t>("|u1", {255, 0});
  expect_labels<std::uint16_t>("<u2", {65535, 1});
  expect_labels<std::uint32_t>("<u4", {70000, 1});
  expect_labels<std::uint64_t>("<u8", {70000, 1});
  expect_labels<std::int8_t>("|i1", {127, 0});
  expect_labels<std::int16_t>("<i2", {300, 0});
  expect_labels<std::int32_t>("<i4", {70000, 3});
  expect_labels<std::int64_t>("<i8", {70000, 3});
}

TEST(npy, versions_2_and_3_and_python_spellings) {
  const scratch_directory dir;
  const bytes labels = npy("{ \"shape\" : ( 2 , ) ,'fortran_order':False,\n'descr':\"|u1\"}", {1, 0}, 2);
  for (const std::uint8_t major : {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}) {
    const bytes inputs = npy(dictionary("<f4", "(2, 2)"), raw(ramp(4)), major);
    EXPECT_EQ(opened(npy_pair(dir, inputs, labels))->classes(), 2U);
  }
}

error refused(const bytes& inputs, const bytes& labels) {
  const scratch_directory dir;
  const expected<data_set_ptr> data = open_data(npy_pair(dir, inputs, labels));
  if (data) throw std::runtime_error("was accepted");
  EXPECT_FALSE(data.error().fix.empty());
  return data.error();
}

bytes good_labels() {
  return npy(dictionary("|u1", "(2,)"), {1, 0});
}

TEST(npy, payloads_that_do_not_fit_are_refused) {
  const std::string header = dictionary("<f4", "(2, 2)");
  const bytes shorter = npy(header, raw(ramp(3)));
  const error e = refused(shorter, good_labels());
  EXPECT_EQ(e.code, error_code::data_truncated);
  EXPECT_THAT(to_string(e), HasSubstr("expected"));
  EXPECT_EQ(refused(npy(header, raw(ramp(5))), good_labels()).code, error_code::data_bad_format);
  EXPECT_EQ(refused(npy(dictionary("<f4", "(3, 2)"), raw(ramp(6))), good_labels()).code, error_code::data_mismatch);
  EXPECT_EQ(refused(npy(dictionary("<f4", "(0, 2)"), {}), good_labels()).code, error_code::data_empty);
  EXPECT_EQ(refused(npy(dictionary("<f4", "()"), raw(ramp(1))), good_labels()).code, error_code::data_bad_format);
  const std::string huge = "(9223372036854775807, 9223372036854775807)";
  EXPECT_EQ(refused(npy(dictionary("<f4", huge), raw(ramp(1))), good_labels()).code, error_code::data_truncated);
}

TEST(npy, types_that_do_not_fit_are_refused) {
  const auto one = [](const std::string& descr) { return npy(dictionary(descr, "(2,)"), bytes(16)); };
  for (const char* descr : {"<c8", "<f16", "<U4", "|S4", "|O", "!f4", "<<f4", "<b2", "<M8[ns]", "", "<", ">"}) {
    EXPECT_EQ(refused(one(descr), good_labels()).code, error_code::data_bad_format) << descr;
  }
  for (const char* descr : {"<u2", ">u4", "<u8"}) {
    const error e = refused(npy(dictionary(descr, "(2,)"), bytes(2 * (descr[2] - '0'))), good_labels());
    EXPECT_EQ(e.code, error_code::data_bad_format) << descr;
    EXPECT_THAT(e.fix, AllOf(HasSubstr("<i8"), HasSubstr(",float32"))) << descr;
  }
}

bytes two_inputs() {
  return npy(dictionary("<f4", "(2,)"), raw(ramp(2)));
}

template <class T>
bytes two_labels(const std::string& descr, T first, T second) {
  return npy(dictionary(descr, "(2,)"), raw(std::vector<T>{first, second}));
}

TEST(npy, labels_that_are_no_classes_are_refused) {
  const error negative = refused(two_inputs(), two_labels<std::int64_t>("<i8", 3, -100));
  EXPECT_EQ(negative.code, error_code::data_label_out_of_range);
  EXPECT_THAT(to_string(negative), HasSubstr("element 1"));
  EXPECT_THAT(to_string(negative), HasSubstr("found -100"));
  const error beyond = refused(two_inputs(), two_labels<std::uint64_t>("<u8", 0, (std::uint64_t{1} << 63) + 5));
  EXPECT_EQ(beyond.code, error_code::data_label_out_of_range);
  EXPECT_THAT(beyond.cause, HasSubstr("found 9223372036854775813"));
  EXPECT_THAT(beyond.fix, Not(HasSubstr("ignore")));
}

TEST(npy, the_fix_for_a_negative_label_works_as_it_is_written) {
  const scratch_directory dir;
  const std::string given = npy_pair(dir, two_inputs(), two_labels<std::int32_t>("<i4", -1, 1)) + ",float64";
  const error e = open_data(given).error();
  const std::size_t begin = e.fix.find("npy:");
  ASSERT_NE(begin, std::string::npos) << e.fix;
  const data_set_ptr data = opened(e.fix.substr(begin, e.fix.find(", or ") - begin));
  EXPECT_EQ(data->size(), 1U);
  EXPECT_EQ(data->left_out(), 1U);
  EXPECT_EQ(get(data->read({0, 1})).inputs.only().scalar_type(), at::kDouble);
}

TEST(npy, a_web_page_is_told_apart) {
  const std::string page = "\n<!DOCTYPE html><html><body>404</body></html>";
  const error e = refused({page.begin(), page.end()}, good_labels());
  EXPECT_EQ(e.code, error_code::data_bad_format);
  EXPECT_THAT(e.cause, HasSubstr("begins with \"<!DOCTYPE html>"));
  EXPECT_THAT(e.fix, HasSubstr("web page"));
}

}  // namespace
}  // namespace troupe
