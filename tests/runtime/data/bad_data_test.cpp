// Goal: every kind of bad data is its own error that names file, offset, expected and found. Method: a table of bad
// files.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using testing::bytes;
using testing::changed;
using testing::cut;
using testing::extended;
using ::testing::HasSubstr;
using testing::scratch_directory;

struct bad_case {
  std::string name;
  error_code code;
  /// Each must stand in the message.
  std::vector<std::string> words;
  /// Writes files and returns the specification.
  std::function<std::string(const scratch_directory&)> make;
};

void PrintTo(const bad_case& c, std::ostream* out) {
  *out << c.name;
}

std::string mnist(const scratch_directory& dir, const bytes& images, const bytes& labels) {
  dir.write("t10k-images-idx3-ubyte", images);
  dir.write("t10k-labels-idx1-ubyte", labels);
  return "mnist:" + dir.path();
}

std::string cifar(const scratch_directory& dir, const bytes& records) {
  return "cifar10:" + dir.write("test_batch.bin", records);
}

bytes as_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

const bytes& images() {
  static const bytes content = testing::idx_images(20);
  return content;
}

const bytes& labels() {
  static const bytes content = testing::idx_labels(20);
  return content;
}

bytes packed_images() {
  return testing::gzip(images());
}

std::vector<bad_case> specification_cases() {
  return {
      {"empty", error_code::value_out_of_range, {"names no kind"}, [](auto&) { return ""; }},
      {"no_colon",
       error_code::value_out_of_range,
       {"data/mnist", "mnist:FILE_OR_DIR", "mnist:data/mnist"},
       [](auto&) { return "data/mnist"; }},
      {"unknown_kind", error_code::unknown_name, {"\"mnits\"", "write \"mnist\""}, [](auto&) { return "mnits:data"; }},
      {"unknown_kind_far",
       error_code::unknown_name,
       {"\"http\"", "use one of: mnist"},
       [](auto&) { return "http://x"; }},
      {"no_path",
       error_code::value_out_of_range,
       {"names no path", "cifar10:FILE_OR_DIR"},
       [](auto&) { return "cifar10:"; }},
      {"npy_one_path", error_code::value_out_of_range, {"npy:INPUTS,LABELS"}, [](auto&) { return "npy:a.npy"; }},
      {"npy_no_labels", error_code::value_out_of_range, {"npy:INPUTS,LABELS"}, [](auto&) { return "npy:a.npy,"; }},
      {"npy_three_paths", error_code::value_out_of_range, {"npy:INPUTS,LABELS"}, [](auto&) { return "npy:a,b,c"; }},
  };
}

std::vector<bad_case> mnist_file_cases() {
  return {
      {"directory_missing",
       error_code::data_missing,
       {"no such directory"},
       [](auto& d) { return "mnist:" + (d / "none"); }},
      {"directory_is_file",
       error_code::data_unreadable,
       {"does not say which labels", "NAME-images-idx3-ubyte"},
       [](auto& d) { return "mnist:" + d.write("t10k.idx3", images()); }},
      {"labels_in_place_of_images",
       error_code::data_unreadable,
       {"is a file of labels", "name the images, mnist:", "/train.images.idx3-ubyte"},
       [](auto& d) { return "mnist:" + d.write("train.labels.idx1-ubyte", labels()); }},
      {"labels_of_a_file_missing",
       error_code::data_missing,
       {"/train-labels-idx1-ubyte", "the labels of train-images-idx3-ubyte"},
       [](auto& d) { return "mnist:" + d.write("train-images-idx3-ubyte", images()); }},
      {"directory_of_other_sets",
       error_code::data_missing,
       {"holds no t10k-images-idx3-ubyte", "but emnist-letters-test-images-idx3-ubyte.gz, train-images-idx3-ubyte",
        "mnist:", "/emnist-letters-test-images-idx3-ubyte.gz"},
       [](auto& d) {
         d.write("train-images-idx3-ubyte", images());
         d.write("emnist-letters-test-images-idx3-ubyte.gz", images());
         return "mnist:" + d.path();
       }},
      {"images_missing",
       error_code::data_missing,
       {"t10k-images-idx3-ubyte"},
       [](auto& d) { return "mnist:" + d.path(); }},
      {"labels_missing",
       error_code::data_missing,
       {"t10k-labels-idx1-ubyte"},
       [](auto& d) { return d.write("t10k-images-idx3-ubyte", images()), "mnist:" + d.path(); }},
      {"images_are_a_directory",
       error_code::data_unreadable,
       {"is a directory"},
       [](auto& d) { return std::filesystem::create_directory(d / "t10k-images-idx3-ubyte"), "mnist:" + d.path(); }},
      {"images_are_a_pipe",
       error_code::data_unreadable,
       {"no regular file"},
       [](auto& d) { return ::mkfifo((d / "t10k-images-idx3-ubyte").c_str(), 0600), "mnist:" + d.path(); }},
  };
}

std::vector<bad_case> mnist_content_cases() {
  return {
      {"images_empty", error_code::data_empty, {"0 bytes"}, [](auto& d) { return mnist(d, {}, labels()); }},
      {"magic",
       error_code::data_bad_format,
       {"byte 0", "expected 0x00000803", "found 0x00000801"},
       [](auto& d) { return mnist(d, labels(), images()); }},
      {"magic_noise",
       error_code::data_bad_format,
       {"found 0x3c68746d"},
       [](auto& d) {
         return mnist(d, {'<', 'h', 't', 'm', 'l', '>', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, labels());
       }},
      {"web_page",
       error_code::data_bad_format,
       {"no IDX file", "begins with \"<html><head>\"", "web page"},
       [](auto& d) { return mnist(d, as_bytes("\xef\xbb\xbf \n<html><head>"), labels()); }},
      {"web_page_named_gz",
       error_code::data_bad_format,
       {"no gzip or IDX file", "begins with \"<!DOCTYPE html><html></html>\""},
       [](auto& d) {
         d.write("t10k-images-idx3-ubyte.gz", as_bytes("<!DOCTYPE html><html></html>"));
         d.write("t10k-labels-idx1-ubyte", labels());
         return "mnist:" + d.path();
       }},
      {"pointer_of_git_lfs",
       error_code::data_bad_format,
       {"begins with \"version https://git-lfs", "git lfs pull"},
       [](auto& d) { return mnist(d, images(), as_bytes("version https://git-lfs.github.com/spec/v1\noid ")); }},
      {"header_short",
       error_code::data_truncated,
       {"header", "byte 11", "expected 16 bytes", "found 11"},
       [](auto& d) { return mnist(d, cut(images(), 11), labels()); }},
      {"images_short",
       error_code::data_truncated,
       {"byte 135", "expected 136 bytes", "found 135"},
       [](auto& d) { return mnist(d, cut(images(), 135), labels()); }},
      {"images_long",
       error_code::data_bad_format,
       {"byte 136", "found 139"},
       [](auto& d) { return mnist(d, extended(images(), 3), labels()); }},
      {"images_none",
       error_code::data_empty,
       {"byte 4", "dimension 0 has size 0"},
       [](auto& d) {
         return mnist(d, testing::idx(0x803, {0, 2, 3}, {}), labels());
       }},
      {"images_overflow",
       error_code::data_truncated,
       {"ends early"},
       [](auto& d) {
         return mnist(d, testing::idx(0x803, {0xffffffff, 0xffffffff, 0xffffffff}, {1}), labels());
       }},
      {"count_mismatch",
       error_code::data_mismatch,
       {"20 images but 19 labels"},
       [](auto& d) { return mnist(d, images(), testing::idx_labels(19)); }},
  };
}

std::vector<bad_case> gzip_cases() {
  return {
      {"gzip_short",
       error_code::data_truncated,
       {"the gzip data end"},
       [](auto& d) { return mnist(d, cut(packed_images(), packed_images().size() - 12), labels()); }},
      {"gzip_only_magic",
       error_code::data_truncated,
       {"after 2 packed bytes"},
       [](auto& d) {
         return mnist(d, {0x1f, 0x8b}, labels());
       }},
      {"gzip_crc",
       error_code::data_bad_format,
       {"damaged", "incorrect data check"},
       [](auto& d) {
         const bytes good = packed_images();
         return mnist(d, changed(good, good.size() - 7, static_cast<std::uint8_t>(~good[good.size() - 7])), labels());
       }},
      {"gzip_length",
       error_code::data_bad_format,
       {"damaged", "incorrect length check"},
       [](auto& d) { return mnist(d, changed(packed_images(), packed_images().size() - 4, 99), labels()); }},
      {"gzip_method",
       error_code::data_bad_format,
       {"unknown compression method"},
       [](auto& d) { return mnist(d, changed(packed_images(), 2, 7), labels()); }},
      {"gzip_trailing",
       error_code::data_bad_format,
       {"3 bytes follow"},
       [](auto& d) { return mnist(d, extended(packed_images(), 3), labels()); }},
      {"gzip_content_short",
       error_code::data_truncated,
       {"unpacked", "expected 136 bytes", "found 100"},
       [](auto& d) { return mnist(d, testing::gzip(cut(images(), 100)), labels()); }},
      {"gzip_header_short",
       error_code::data_truncated,
       {"unpacked header", "found 5"},
       [](auto& d) { return mnist(d, testing::gzip(cut(images(), 5)), labels()); }},
      {"gzip_bomb",
       error_code::data_bad_format,
       {"byte 136", "expected 136 bytes as the header says, found more"},
       [](auto& d) { return mnist(d, testing::gzip(extended(images(), 64U << 20)), labels()); }},
      {"gzip_impossible_promise",
       error_code::data_truncated,
       {"more than", "packed bytes can hold"},
       [](auto& d) {
         return mnist(d, testing::gzip(testing::idx(0x803, {0xffffffff, 0xffff, 0xffff}, {1})), labels());
       }},
  };
}

std::vector<bad_case> cifar_cases() {
  return {
      {"cifar_missing",
       error_code::data_missing,
       {"no such file"},
       [](auto& d) { return "cifar10:" + (d / "none.bin"); }},
      {"cifar_no_bin", error_code::data_missing, {"no test_batch.bin"}, [](auto& d) { return "cifar10:" + d.path(); }},
      {"cifar_many_bins",
       error_code::data_missing,
       {"a.bin, b.bin", "name the file"},
       [](auto& d) { return d.write("b.bin", {1}), d.write("a.bin", {1}), "cifar10:" + d.path(); }},
      {"cifar_empty", error_code::data_empty, {"0 bytes"}, [](auto& d) { return cifar(d, {}); }},
      {"cifar_short",
       error_code::data_truncated,
       {"byte 6146", "expected 3073 bytes", "found 3000", "9146 bytes in all"},
       [](auto& d) { return cifar(d, cut(testing::cifar_records(3), 9146)); }},
      {"cifar_web_page",
       error_code::data_bad_format,
       {"no CIFAR-10 file", "begins with \"<!doctype html>\""},
       [](auto& d) { return cifar(d, as_bytes("<!doctype html>")); }},
      {"cifar_label",
       error_code::data_label_out_of_range,
       {"byte 3073", "sample 1", "found 255"},
       [](auto& d) { return cifar(d, changed(testing::cifar_records(3), 3073, 255)); }},
  };
}

class bad_data_test : public ::testing::TestWithParam<bad_case> {};

TEST_P(bad_data_test, is_named) {
  const scratch_directory dir;
  const expected<data_set_ptr> data = open_data(GetParam().make(dir));
  ASSERT_FALSE(data.has_value());
  const std::string message = to_string(data.error());
  EXPECT_EQ(data.error().code, GetParam().code) << message;
  EXPECT_FALSE(data.error().where.empty()) << message;
  EXPECT_FALSE(data.error().fix.empty()) << message;
  for (const std::string& word : GetParam().words) EXPECT_THAT(message, HasSubstr(word));
}

constexpr auto name_of = [](const auto& info) { return info.param.name; };

INSTANTIATE_TEST_SUITE_P(specification, bad_data_test, ::testing::ValuesIn(specification_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(mnist_file, bad_data_test, ::testing::ValuesIn(mnist_file_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(mnist_content, bad_data_test, ::testing::ValuesIn(mnist_content_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(gzip, bad_data_test, ::testing::ValuesIn(gzip_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(cifar, bad_data_test, ::testing::ValuesIn(cifar_cases()), name_of);

}  // namespace
}  // namespace troupe
