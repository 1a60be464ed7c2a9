// Goal: rows of any cut of the samples make one file with each sample once; what a lying peer sends as rows is refused;
// an old file is replaced at the end or stays. Method: parts of random outputs through make_prediction_rows() and
// open_prediction_file(); the arrays are read by the reader of npy: data.
#include <filesystem>
#include <fstream>
#include <functional>
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
    const auto file = get(open_prediction_file(path(name), format, nullptr));
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
  const auto file = get(open_prediction_file(path("p.npy"), prediction_format::npy, nullptr));
  get(file->append({0, 0}, rows_of(*kept, {at::zeros({3, 4}, at::kLong), {}})));
  const auto refused = file->append({0, 1}, rows_of(*kept, {at::zeros({3, 5}, at::kLong), {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(refused.error()), HasSubstr(".jsonl"));
}

TEST_F(prediction_file, leaves_the_old_one_without_an_end) {
  write("p.jsonl", prediction_extra::none, at::zeros({2}), at::zeros({2}), 2);
  const auto before = std::filesystem::last_write_time(path("p.jsonl"));
  { const auto file = get(open_prediction_file(path("p.jsonl"), prediction_format::jsonl, nullptr)); }
  EXPECT_EQ(std::filesystem::last_write_time(path("p.jsonl")), before);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(directory_.path())) ++files;
  EXPECT_EQ(files, 1U);
}

TEST_F(prediction_file, must_have_a_place_and_a_kind) {
  EXPECT_EQ(open_prediction_file(path("none/p.npy"), prediction_format::npy, nullptr).error().code,
            error_code::output_unwritable);
  std::filesystem::create_directory(path("d.jsonl"));
  EXPECT_EQ(open_prediction_file(path("d.jsonl"), prediction_format::jsonl, nullptr).error().code,
            error_code::output_unwritable);
  EXPECT_EQ(prediction_format_of("p.csv").error().code, error_code::value_out_of_range);
}

/// Samples with names; of a user, who may give anything.
class named_samples final : public data_set {
 public:
  explicit named_samples(std::function<std::vector<std::string>(sample_range)> names) : names_(std::move(names)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return 23; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {1}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "named"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    return sample_block{at::zeros({static_cast<std::int64_t>(range.size()), 1}), {}};
  }
  [[nodiscard]] expected<std::vector<std::string>> ids(sample_range range) const override { return names_(range); }

 private:
  std::function<std::vector<std::string>(sample_range)> names_;
};

std::vector<std::string> some_names(sample_range range) {
  std::vector<std::string> names;
  for (std::uint64_t i = range.begin; i < range.end; ++i) names.push_back("n\"" + std::to_string(i) + "\xc3\xa9\n");
  return names;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST_F(prediction_file, has_the_ids_of_samples) {
  const auto data = std::make_shared<named_samples>(some_names);
  const auto file = get(open_prediction_file(path("p.jsonl"), prediction_format::jsonl, data));
  const std::string first =
      "{\"sample\": 3, \"label\": 1}\n{\"sample\": 4, \"label\": 0}\n{\"sample\": 9, \"label\": 0}\n";
  get(file->append({0, 0}, bytes_of(first)));
  get(file->append({0, 1}, {}));
  get(file->append({0, 2}, bytes_of("{\"sample\": 22, \"prediction\": 7}\n")));
  get(file->finish());
  std::ifstream lines(path("p.jsonl"));
  std::vector<std::uint64_t> samples;
  for (std::string line; std::getline(lines, line);) {
    const json read = json::parse(line);
    samples.push_back(read["sample"]);
    EXPECT_EQ(read["id"], some_names({samples.back(), samples.back() + 1}).front());
    EXPECT_EQ(read.size(), 3U);
  }
  EXPECT_THAT(samples, ::testing::ElementsAre(3, 4, 9, 22));
}

TEST_F(prediction_file, refuses_lines_and_ids_that_are_none) {
  const auto data = std::make_shared<named_samples>(some_names);
  for (const char* lie : {"x\n", "{\"sample\": 1}\n", "{\"sample\": 1, \"label\": 0}",
                          "{\"sample\": 23, \"label\": 0}\n", "{\"sample\": -1, \"label\": 0}\n",
                          "{\"sample\": 99999999999999999999, }\n", "\n", "{\"sample\": ", "{\"sample\": 1"}) {
    const auto file = get(open_prediction_file(path("p.jsonl"), prediction_format::jsonl, data));
    const auto refused = file->append({0, 0}, bytes_of(lie));
    ASSERT_FALSE(refused) << lie;
    EXPECT_EQ(refused.error().code, error_code::wire_malformed);
  }
  const std::string line = "{\"sample\": 1, \"label\": 0}\n";
  for (const bool throws : {true, false}) {
    const auto odd = std::make_shared<named_samples>([throws](sample_range) {
      if (throws) throw std::runtime_error("no names today");
      return std::vector<std::string>(7);
    });
    const auto file = get(open_prediction_file(path("p.jsonl"), prediction_format::jsonl, odd));
    const auto refused = file->append({0, 0}, bytes_of(line));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::source_failed);
    EXPECT_THAT(to_string(refused.error()), HasSubstr(throws ? "no names today" : "gave 7 for 1"));
  }
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
