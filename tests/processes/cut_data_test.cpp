// Goal: data that are cut short while they are evaluated are an error that names the file, and never a signal or a
// result. Method: the built program on files of 10,000 samples made here, in one process and in several; the file is
// cut when the program's own output says that it is at work, long before the loader can have read it all.
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/marked_run.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::size_t samples = 10000;
constexpr std::size_t pixels = 28 * 28;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFFU);
  return bytes;
}

/// npy version 1.0, all zeros.
std::string npy(const std::string& type, const std::string& shape, std::size_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(bytes, '\0');
}

struct cut_file {
  std::string name;
  std::string data;
  std::string file;
};

void make_data(const scratch& directory) {
  directory.write("x.npy", npy("<f4", "10000, 1, 28, 28", samples * pixels * 4));
  directory.write("i.npy", npy("<i8", "10000,", samples * 8));
  directory.write("mnist/t10k-images-idx3-ubyte", big_endian(0x803) + big_endian(samples) + big_endian(28) +
                                                      big_endian(28) + std::string(samples * pixels, '\0'));
  directory.write("mnist/t10k-labels-idx1-ubyte", big_endian(0x801) + big_endian(samples) + std::string(samples, '\0'));
}

const std::vector<cut_file> files = {{"npy_inputs", "npy:x.npy,i.npy", "x.npy"},
                                     {"npy_labels", "npy:x.npy,i.npy", "i.npy"},
                                     {"mnist_images", "mnist:mnist", "mnist/t10k-images-idx3-ubyte"},
                                     {"mnist_labels", "mnist:mnist", "mnist/t10k-labels-idx1-ubyte"}};

class data_cut_in_use : public ::testing::TestWithParam<std::tuple<cut_file, bool>> {};

TEST_P(data_cut_in_use, is_an_error_that_names_the_file) {
  const auto& [cut, processes] = GetParam();
  const std::string model = fs::absolute(data_dir() / "mnist/lenet.pt").string();
  std::vector<std::string> arguments = {"eval", "--model",   model, "--data",   cut.data, "--micro-batch",
                                        "1",    "--threads", "1",   "--stages", "2",      "--json"};
  if (processes) arguments.emplace_back("--processes");
  marked_run run(arguments);
  make_data(run.directory());
  const auto before = run.directory().entries();
  const fs::path file = run.directory().path() / cut.file;
  bool is_cut = false;
  run.on_stderr = [&](const std::string& so_far) {
    if (!is_cut && so_far.find("samples") != std::string::npos) {
      fs::resize_file(file, 4000);
      is_cut = true;
    }
    return std::vector<int>{};
  };
  const auto outcome = run.run();
  ASSERT_TRUE(is_cut) << outcome.err;
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error E0302: " + cut.file + ", byte 4000, "));
  EXPECT_THAT(outcome.err, HasSubstr(": was cut short while in use: expected "));
  run.expect_nothing_left(before);
}

INSTANTIATE_TEST_SUITE_P(all, data_cut_in_use, ::testing::Combine(::testing::ValuesIn(files), ::testing::Bool()),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + (std::get<1>(row.param) ? "_processes" : "");
                         });

}  // namespace
}  // namespace troupe::testing
