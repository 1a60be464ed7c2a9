// Goal: rows of any cut of the samples make one file with each sample once; what a lying peer sends as rows is refused;
// an old file is replaced at the end or stays. Method: parts of random outputs through make_prediction_rows() and
// open_prediction_file(); the arrays are read by the reader of npy: data.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "runtime/predictions/array_rows.hpp"
#include "runtime/predictions/prediction_rows.hpp"
#include "tests/runtime/data/sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using json = nlohmann::json;

std::vector<std::byte> rows_of(const metric& kept, const scored_part& part) {
  std::vector<std::byte> rows;
  get(kept.update_words(part, {}, rows));
  return rows;
}

class prediction_file : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }

  /// Writes `output` in parts of `size` samples.
  std::string write(const std::string& name, prediction_extra with, const at::Tensor& output, const at::Tensor& label,
                    std::int64_t size) {
    const prediction_format format = get(prediction_format_of(name));
    const metric_ptr kept = make_prediction_rows(format, with);
    const auto file = get(open_prediction_file(path(name), format));
    for (std::int64_t begin = 0; begin < output.size(0); begin += size) {
      const std::int64_t end = std::min(begin + size, output.size(0));
      const sample_range range{static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)};
      const scored_part part(output.slice(0, begin, end), label.slice(0, begin, end), {}, range, nullptr);
      get(file->append({0, range.begin}, rows_of(*kept, part)));
    }
    get(file->finish());
    std::ifstream read(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(read), {}};
  }

  testing::scratch_directory directory_;
};

TEST_F(prediction_file, has_a_line_for_each_sample_in_order) {
  at::manual_seed(9);
  const at::Tensor output = at::randn({23, 4});
  const at::Tensor label = at::randint(4, {23}, at::kLong);
  const std::string text = write("p.jsonl", prediction_extra::outputs, output, label, 23);
  EXPECT_EQ(write("q.jsonl", prediction_extra::outputs, output, label, 5), text);
  std::istringstream lines(text);
  std::int64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json read = json::parse(line);
    EXPECT_EQ(read["sample"], count);
    EXPECT_EQ(read["label"], label[count].item<std::int64_t>());
    EXPECT_EQ(read["prediction"], output[count].argmax().item<std::int64_t>());
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_EQ(read["outputs"][j].get<float>(), output[count][j].item<float>());
  }
  EXPECT_EQ(count, 23);
}

TEST_F(prediction_file, is_an_array_that_npy_data_reads) {
  at::manual_seed(10);
  const at::Tensor output = at::randn({23, 3, 2});
  const at::Tensor label = at::zeros({23}, at::kLong);
  const std::string outputs = write("p.npy", prediction_extra::outputs, output, label, 5);
  const std::string numbers = write("l.npy", prediction_extra::none, at::arange(23, at::kLong), label, 7);
  // as numpy.lib.format.write_array() has it, but for more blanks
  EXPECT_THAT(outputs.substr(0, 8) + outputs.substr(10),
              StartsWith("\x93NUMPY\x01" + std::string(1, '\0') +
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (23, 3, 2), }  "));
  EXPECT_THAT(numbers.substr(10), StartsWith("{'descr': '<i8', 'fortran_order': False, 'shape': (23,), }  "));
  const auto data = get(open_data("npy:" + path("p.npy") + "," + path("l.npy")));
  EXPECT_EQ(data->size(), 23U);
  const sample_block block = get(data->read({0, 23}));
  EXPECT_TRUE(at::equal(block.inputs.only(), output));
  EXPECT_TRUE(at::equal(block.labels.only(), at::arange(23, at::kLong)));
}

TEST_F(prediction_file, refuses_samples_that_make_no_array) {
  const metric_ptr kept = make_prediction_rows(prediction_format::npy, prediction_extra::none);
  const auto file = get(open_prediction_file(path("p.npy"), prediction_format::npy));
  get(file->append({0, 0}, rows_of(*kept, {at::zeros({3, 4}, at::kLong), {}})));
  const auto refused = file->append({0, 1}, rows_of(*kept, {at::zeros({3, 5}, at::kLong), {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(refused.error()), HasSubstr(".jsonl"));
}

TEST_F(prediction_file, leaves_the_old_one_without_an_end) {
  write("p.jsonl", prediction_extra::none, at::zeros({2}), at::zeros({2}), 2);
  const auto before = std::filesystem::last_write_time(path("p.jsonl"));
  { const auto file = get(open_prediction_file(path("p.jsonl"), prediction_format::jsonl)); }
  EXPECT_EQ(std::filesystem::last_write_time(path("p.jsonl")), before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(directory_.path())) ++files;
  EXPECT_EQ(files, 1U);
}

TEST_F(prediction_file, must_have_a_place_and_a_kind) {
  EXPECT_EQ(open_prediction_file(path("none/p.npy"), prediction_format::npy).error().code,
            error_code::output_unwritable);
  std::filesystem::create_directory(path("d.jsonl"));
  EXPECT_EQ(open_prediction_file(path("d.jsonl"), prediction_format::jsonl).error().code,
            error_code::output_unwritable);
  EXPECT_EQ(prediction_format_of("p.csv").error().code, error_code::value_out_of_range);
}

TEST(array_rows, of_a_lying_peer_are_nothing) {
  std::vector<std::byte> fine;
  append_array(fine, at::zeros({3, 4}));
  ASSERT_TRUE(read_array(fine));
  for (std::size_t size = 0; size < fine.size(); ++size) EXPECT_FALSE(read_array(std::span(fine).first(size))) << size;
  for (std::size_t at = 3; at < 3 + 24; ++at) {
    for (const int value : {1, 127, 128, 255}) {
      std::vector<std::byte> lie = fine;
      if (lie[at] == std::byte(value)) continue;
      lie[at] = std::byte(value);
      EXPECT_FALSE(read_array(lie)) << at << ' ' << value;
    }
  }
  std::vector<std::byte> overflow = fine;
  for (std::size_t at = 3 + 8; at < 3 + 24; ++at) overflow[at] = std::byte{0x40};
  EXPECT_FALSE(read_array(overflow));
}

}  // namespace
}  // namespace troupe
