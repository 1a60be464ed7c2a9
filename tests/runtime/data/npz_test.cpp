// Goal: archives of numpy.savez and savez_compressed give the samples that were saved,
// by the names they were saved under; everything else is an error that says what to write. Method: archives recorded
// with NumPy (recorded/record.py) against values calculated here; archives built here with one thing wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/data/array_options.hpp"
#include "sample_files.hpp"
#include "tests/support/packed_item.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using testing::bytes;
using testing::dictionary;
using ::testing::HasSubstr;
using testing::npy;
using testing::opened;
using testing::packed_item;
using testing::ramp;
using testing::raw;
using testing::scratch_directory;
using testing::stored;
using testing::three_classes;
using testing::three_inputs;
using testing::zip_file;
using testing::zip_item;

std::string recorded(const std::string& name) {
  return "npz:" + (testing::source_dir() / "tests/runtime/data/recorded" / name).string();
}

/// Rows [begin, end) of an array whose element i is i * factor % modulus.
at::Tensor values(std::vector<std::int64_t> shape, std::int64_t factor, std::int64_t modulus, sample_range range) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < count; ++i) elements.push_back(i * factor % modulus);
  return at::tensor(elements, at::kLong)
      .reshape(shape)
      .slice(0, static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
}

void expect_ids_and_mask(const data_set& data) {
  EXPECT_EQ(data.size(), 6U);
  EXPECT_EQ(data.sample_shape(), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(data.classes(), 5U);
  for (std::uint64_t begin = 0; begin < 6; ++begin) {
    for (std::uint64_t end = begin + 1; end <= 6; ++end) {
      const sample_block block = get(data.read({begin, end}));
      ASSERT_EQ(block.inputs.names(), "input_ids, attention_mask");
      ASSERT_EQ(block.labels.names(), "labels");
      EXPECT_TRUE(at::equal(block.inputs.at("input_ids"), values({6, 5}, 7, 31, {begin, end})));
      EXPECT_EQ(block.inputs.at("attention_mask").scalar_type(), at::kChar);
      EXPECT_TRUE(at::equal(block.inputs.at("attention_mask").to(at::kLong), values({6, 5}, 3, 2, {begin, end})));
      EXPECT_TRUE(at::equal(block.labels.at("labels"), values({6}, 2, 5, {begin, end})));
    }
  }
}

TEST(npz, arrays_of_numpy_are_inputs_and_labels_by_their_names) {
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    SCOPED_TRACE(name);
    const data_set_ptr data = opened(recorded(name));
    EXPECT_EQ(data->name(), recorded(name));
    EXPECT_EQ(data->reading(), "");
    EXPECT_EQ(data->files().size(), 1U);
    expect_ids_and_mask(*data);
  }
}

TEST(npz, labels_and_inputs_are_chosen_by_name) {
  const std::string form = recorded("forms.npz") + ",label=start,inputs=pictures+swapped,label=end";
  const data_set_ptr data = opened(form);
  EXPECT_EQ(data->reading(), ",label=start+end,inputs=pictures+swapped");
  EXPECT_EQ(data->classes(), 7U);
  const sample_block block = get(data->read({1, 5}));
  EXPECT_EQ(block.inputs.names(), "pictures, swapped");
  EXPECT_EQ(block.labels.names(), "start, end");
  const at::Tensor pictures = values({6, 2, 3}, 5, 64, {1, 5}).to(at::kFloat);
  EXPECT_TRUE(at::equal(block.inputs.at("pictures"), pictures));
  EXPECT_TRUE(at::equal(block.inputs.at("swapped"), pictures));
  EXPECT_TRUE(at::equal(block.labels.at("start"), values({6}, 2, 5, {1, 5})));
  EXPECT_TRUE(at::equal(block.labels.at("end"), values({6}, 3, 7, {1, 5})));

  const data_set_ptr target = opened(recorded("forms.npz") + ",label=target,inputs=pictures");
  EXPECT_EQ(target->classes(), 0U);
  EXPECT_TRUE(at::equal(get(target->read({0, 6})).labels.only(), values({6}, 1, 6, {0, 6}).to(at::kDouble)));
}

TEST(npz, a_type_casts_floating_inputs_and_ignored_samples_are_left_out) {
  const data_set_ptr cast = opened(recorded("forms.npz") + ",label=target,inputs=pictures+start,float64");
  const sample_block block = get(cast->read({0, 6}));
  EXPECT_EQ(block.inputs.at("pictures").scalar_type(), at::kDouble);
  EXPECT_EQ(block.inputs.at("start").scalar_type(), at::kInt) << "integers among several inputs are ids";
  EXPECT_EQ(cast->reading(), ",label=target,inputs=pictures+start,float64");

  const data_set_ptr kept = opened(recorded("stored.npz") + ",ignore=4,inputs=input_ids");  // labels 0 2 4 1 3 0
  EXPECT_EQ(kept->size(), 5U);
  EXPECT_EQ(kept->left_out(), 1U);
  EXPECT_TRUE(at::equal(get(kept->read({0, 5})).labels.only(), at::tensor({0, 2, 1, 3, 0}, at::kLong)));
  EXPECT_TRUE(at::equal(get(kept->read({2, 3})).inputs.only(), values({6, 5}, 7, 31, {3, 4})));
}

std::string text_of(const bytes& content) {
  return {content.begin(), content.end()};
}

bytes bytes_of_text(const std::string& text) {
  return {text.begin(), text.end()};
}

struct bad_archive {
  std::string name;
  std::vector<zip_item> items;
  std::string options;
  error_code code;
  /// Each stands in the message.
  std::vector<std::string> words;
};

zip_item labels_item() {
  return stored("labels.npy", text_of(three_classes()));
}
zip_item rows_item(const std::string& name) {
  return stored(name, text_of(three_inputs()));
}

std::vector<bad_archive> bad_names() {
  return {
      {"no_labels",
       {rows_item("x.npy"), rows_item("y.npy")},
       "",
       error_code::data_missing,
       {"no array \"labels\"", "among x, y", "label=y"}},
      {"no_such_label",
       {rows_item("x.npy"), labels_item()},
       ",label=label",
       error_code::data_missing,
       {"no array \"label\"", "write \"labels\""}},
      {"no_such_input",
       {rows_item("mask.npy"), labels_item()},
       ",inputs=maks",
       error_code::data_missing,
       {"no array \"maks\"", "write \"mask\""}},
      {"only_labels", {labels_item()}, "", error_code::value_out_of_range, {"all arrays are labels"}},
      {"nothing", {}, "", error_code::data_missing, {"among none"}},
      {"no_identifier",
       {rows_item("hidden state.npy"), labels_item()},
       "",
       error_code::data_bad_format,
       {"\"hidden state\"", "inputs=A+B"}},
      {"no_array",
       {rows_item("x.npy"), stored("README.txt", "hello"), labels_item()},
       "",
       error_code::data_bad_format,
       {"\"README.txt\"", "inputs=A+B"}},
      {"twice",
       {rows_item("x.npy"), rows_item("x.npy"), labels_item()},
       "",
       error_code::data_bad_format,
       {"two arrays \"x\""}},
  };
}

std::vector<bad_archive> bad_contents() {
  return {
      {"lengths",
       {stored("x.npy", text_of(npy(dictionary("<f4", "(4, 2)"), raw(ramp(8))))), labels_item()},
       "",
       error_code::data_mismatch,
       {"array x", "array labels", "4 samples but 3 labels"}},
      {"input_lengths",
       {rows_item("x.npy"), stored("m.npy", text_of(npy(dictionary("<f4", "(2, 2)"), raw(ramp(4))))), labels_item()},
       "",
       error_code::data_mismatch,
       {"array m", "3 samples but 2 rows of m"}},
      {"not_npy",
       {stored("x.npy", "hello, world, this is a text"), labels_item()},
       "",
       error_code::data_bad_format,
       {"array x", "is a text"}},
      {"array_ends_early",
       {stored("x.npy", text_of(testing::cut(three_inputs(), 140))), labels_item()},
       "",
       error_code::data_truncated,
       {"array x", "140"}},
  };
}

std::vector<bad_archive> bad_packing() {
  zip_item lies = packed_item("x.npy", text_of(three_inputs()));
  lies.bytes = std::uint64_t{1} << 30;
  zip_item longer = packed_item("x.npy", text_of(three_inputs()));
  longer.bytes -= 8;
  zip_item altered = packed_item("x.npy", text_of(three_inputs()));
  altered.crc ^= 1;
  zip_item noise = packed_item("x.npy", text_of(three_inputs()));
  noise.content[0] = '\xff';
  const std::string zeros = text_of(npy(dictionary("<f4", "(2000, 50)"), bytes(400000)));
  return {
      {"claims_much", {lies, labels_item()}, "", error_code::data_bad_format, {"array x", "1073741824", "more than"}},
      {"unpacks_to_more", {longer, labels_item()}, "", error_code::data_bad_format, {"array x", "more than its size"}},
      {"checksum", {altered, labels_item()}, "", error_code::data_bad_format, {"array x", "checksum"}},
      {"cannot_unpack", {noise, labels_item()}, "", error_code::data_bad_format, {"array x", "cannot be unpacked"}},
      {"shape", {packed_item("x.npy", zeros), labels_item()}, "", error_code::data_mismatch, {"2000 samples"}},
  };
}

std::vector<bad_archive> bad_options() {
  return {
      {"types_that_hardly_compute",
       {stored("ids.npy", text_of(npy(dictionary("<u2", "(3,)"), raw(std::vector<std::uint16_t>{1, 2, 3})))),
        rows_item("x.npy"), labels_item()},
       ",float32",
       error_code::data_bad_format,
       {"array ids", "'<u2'", "astype('<i8')"}},
      {"ignored_of_two",
       {rows_item("x.npy"), labels_item(), stored("end.npy", text_of(three_classes()))},
       ",label=labels+end,ignore=1",
       error_code::value_out_of_range,
       {"ignore= needs one label"}},
      {"type",
       {rows_item("x.npy"), labels_item()},
       ",float23",
       error_code::value_out_of_range,
       {"npz:FILE[,label=NAME]", "write \"float32\""}},
      {"label_twice",
       {rows_item("x.npy"), labels_item()},
       ",label=labels+labels",
       error_code::value_out_of_range,
       {"twice"}},
      {"empty_name",
       {rows_item("x.npy"), labels_item()},
       ",inputs=x+",
       error_code::value_out_of_range,
       {"expected names"}},
  };
}

TEST(npz, members_of_an_argument_have_names_with_dots) {
  const scratch_directory dir;
  const std::string path =
      dir.write("x.npz", bytes_of_text(zip_file({rows_item("pair.left.npy"), rows_item("pair.0.npy"), labels_item()})));
  EXPECT_EQ(get(opened("npz:" + path)->read({0, 1})).inputs.names(), "pair.left, pair.0");
  EXPECT_EQ(get(opened("npz:" + path + ",inputs=pair.0")->read({0, 1})).inputs.names(), "pair.0");
  EXPECT_FALSE(is_array_name("pair..left"));
  EXPECT_FALSE(is_array_name(".left"));
  EXPECT_FALSE(is_array_name("left."));
}

TEST(npz, what_is_wrong_is_said_before_the_start) {
  std::vector<bad_archive> all;
  for (const auto& some : {bad_names(), bad_contents(), bad_packing(), bad_options()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  for (const bad_archive& each : all) {
    SCOPED_TRACE(each.name);
    const scratch_directory dir;
    const std::string path = dir.write("x.npz", bytes_of_text(zip_file(each.items)));
    const auto data = open_data("npz:" + path + each.options);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code, each.code) << to_string(data.error());
    for (const std::string& word : each.words) EXPECT_THAT(to_string(data.error()), HasSubstr(word));
    EXPECT_FALSE(data.error().fix.empty());
  }
}

TEST(npz, other_files_are_told_apart) {
  const scratch_directory dir;
  const auto refused = [&](const std::string& name, const bytes& content) {
    return to_string(open_data("npz:" + dir.write(name, content)).error());
  };
  EXPECT_THAT(refused("one.npz", three_inputs()), HasSubstr("is one array (.npy)"));
  EXPECT_THAT(refused("text.npz", bytes_of_text("<html>no data</html>")), HasSubstr("web page"));
  EXPECT_THAT(refused("noise.npz", {1, 2, 3, 4}), HasSubstr("E0303"));
  const bytes whole = testing::read_file(testing::source_dir() / "tests/runtime/data/recorded/stored.npz");
  for (std::size_t size = 4; size < whole.size(); size += 7) {
    EXPECT_THAT(refused("short.npz", testing::cut(whole, size)), HasSubstr("E0302")) << size;
  }
  EXPECT_THAT(to_string(open_data("npz:" + dir.path()).error()), HasSubstr("directory"));
  EXPECT_THAT(to_string(open_data("npz:,label=x").error()), HasSubstr("E0103"));
  EXPECT_THAT(to_string(open_data(recorded("objects.npz")).error()), HasSubstr("array of Python objects"));
  EXPECT_THAT(to_string(open_data(recorded("positional.npz")).error()), HasSubstr("label=arr_1"));
  EXPECT_EQ(get(opened(recorded("positional.npz") + ",label=arr_1")->read({0, 1})).inputs.names(), "arr_0");
}

TEST(npz, no_byte_of_an_archive_can_be_changed_to_crash_the_reader) {
  const scratch_directory dir;
  for (const char* name : {"stored.npz", "compressed.npz"}) {
    const bytes whole = testing::read_file(testing::source_dir() / "tests/runtime/data/recorded" / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      const std::string path = dir.write("x.npz", testing::changed(whole, at, whole[at] ^ 0xff));
      const auto data = open_data("npz:" + path);
      if (data) static_cast<void>((*data)->read({0, (*data)->size()}));  // the pad bytes of a header, stored values
    }
  }
}

TEST(npz, has_any_number_of_arrays) {
  const scratch_directory dir;
  std::vector<zip_item> items = {labels_item()};
  for (int i = 0; i < 3000; ++i) {
    const std::vector<float> value(6, static_cast<float>(i));
    items.push_back(stored("x" + std::to_string(i) + ".npy", text_of(npy(dictionary("<f4", "(3, 2)"), raw(value)))));
  }
  const std::string path = dir.write("x.npz", bytes_of_text(zip_file(items)));
  EXPECT_THAT(to_string(open_data("npz:" + path).error()), HasSubstr("there are 3001 arrays"));
  EXPECT_THAT(to_string(open_data("npz:" + path + ",label=y").error()), HasSubstr("and 2981 more"));
  for (const int i : {0, 1, 1234, 2999}) {
    const sample_block block = get(opened("npz:" + path + ",inputs=x" + std::to_string(i))->read({0, 3}));
    EXPECT_TRUE(at::equal(block.inputs.only(), at::full({3, 2}, i, at::kFloat)));
  }
}

TEST(npz, a_file_that_is_cut_short_while_in_use_is_an_error) {
  const scratch_directory dir;
  const bytes whole = testing::read_file(testing::source_dir() / "tests/runtime/data/recorded/stored.npz");
  const std::string path = dir.write("x.npz", whole);
  const data_set_ptr data = opened("npz:" + path);
  std::filesystem::resize_file(path, 40);
  const auto block = data->read({0, 6});
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, error_code::data_truncated);
}

}  // namespace
}  // namespace troupe
