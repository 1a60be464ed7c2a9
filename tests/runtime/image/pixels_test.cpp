// Goal: pictures of every kind, decoded and transformed, have the bits that Pillow and torchvision give. Method:
// recorded pictures with the checksum of torchvision's tensor, and new random ones by a Python that has both packages.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <zlib.h>

#include "../../support/paths.hpp"
#include "runtime/image/picture_steps.hpp"
#include "runtime/image/weigh.hpp"

namespace troupe::testing {
namespace {

using nlohmann::json;

std::vector<std::uint8_t> content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

picture_size size_of(const json& height_and_width) {
  return {height_and_width[1].get<std::uint32_t>(), height_and_width[0].get<std::uint32_t>()};
}

picture_filter filter_named(const std::string& name) {
  for (const auto filter :
       {picture_filter::box, picture_filter::bilinear, picture_filter::bicubic, picture_filter::lanczos}) {
    if (name_of(filter) == name) return filter;
  }
  ADD_FAILURE() << name;
  return picture_filter::box;
}

picture_steps steps_of(const json& described) {
  picture_steps steps;
  if (described["resize"].is_number()) steps.shorter_side = described["resize"].get<std::uint32_t>();
  if (described["resize"].is_array()) steps.resize = size_of(described["resize"]);
  if (described["crop"].is_array()) steps.crop = size_of(described["crop"]);
  steps.filter = filter_named(described["filter"]);
  if (described["mean"].is_array()) {
    steps.mean = described["mean"].get<std::array<double, 3>>();
    steps.deviation = described["std"].get<std::array<double, 3>>();
  }
  return steps;
}

/// How many cases are there, and were right.
std::size_t check_cases(const std::filesystem::path& folder) {
  const json cases = json::parse(std::ifstream(folder / "cases.json"));
  for (const json& each : cases) {
    const auto file = content_of(folder / each["file"].get<std::string>());
    const picture_size size = size_of(each["size"]);
    std::vector<float> tensor(std::size_t{3} * size.width * size.height);
    const auto done = picture_reader(steps_of(each)).read(file, each["file"], size, tensor);
    if (!done) {
      ADD_FAILURE() << to_string(done.error());
      continue;
    }
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(tensor.data()), tensor.size() * sizeof(float));
    EXPECT_EQ(crc, each["crc"].get<std::uint64_t>()) << each;
  }
  return cases.size();
}

TEST(pixels, are_those_of_pillow_and_torchvision) {
  EXPECT_EQ(check_cases(source_dir() / "tests/runtime/image/recorded"), 357U);
}

TEST(pixels, are_those_of_pillow_and_torchvision_for_random_pictures) {
  const char* given = std::getenv("TROUPE_TORCH_PYTHON");
  const std::string python = given != nullptr ? given : "python3";
  if (std::system(("\"" + python + "\" -c 'import torchvision, PIL' 2>/dev/null").c_str()) != 0) {
    ASSERT_EQ(given, nullptr) << "the Python that was named lacks torchvision or Pillow";
    GTEST_SKIP() << "python3 has no torchvision and Pillow; name a Python that has them in TROUPE_TORCH_PYTHON";
  }
  const auto folder = std::filesystem::temp_directory_path() / ("troupe-pictures-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto script = source_dir() / "tests/runtime/image/pictures.py";
  ASSERT_EQ(std::system(("\"" + python + "\" -W ignore \"" + script.string() + "\" random " + folder.string()).c_str()),
            0);
  EXPECT_GT(check_cases(folder), 400U);
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

/// Processors without AVX2 take the other version.
TEST(weighing, is_the_same_in_every_version) {
  std::vector<std::uint8_t> row(400);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::uint8_t>(i * i * 37 + i);
  const sample_weights weights = weights_of(picture_filter::bicubic, 90, 31, 0, 31);
  std::vector<std::uint32_t> firsts;
  for (const auto& each : weights.ranges)
    firsts.push_back(std::min(each.first, 90U - static_cast<std::uint32_t>(weights.most)));
  const auto outcome = [&](const weigh_functions& functions) {
    std::vector<std::uint8_t> out(31 * pixel_bytes + 96 + 64);
    functions.across(row.data(), firsts.data(), weights.weights.data(), weights.most, 31, out.data());
    const std::uint8_t* rows[] = {row.data(), row.data() + 70, row.data() + 150};
    functions.down(rows, weights.weights.data(), 3, 96, out.data() + 31 * pixel_bytes);
    out.resize(31 * pixel_bytes + 96);
    return out;
  };
  EXPECT_EQ(outcome(portable_weighing()), outcome(fastest_weighing()));
}

}  // namespace
}  // namespace troupe::testing
