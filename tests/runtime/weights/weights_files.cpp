#include "weights_files.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>
#include <malloc.h>

#include "../../support/paths.hpp"
#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

std::uint64_t bytes_beside(const fs::path& file) {
  std::uint64_t bytes = 0;
  const fs::path folder = fs::is_directory(file) ? file : file.parent_path();
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.is_regular_file() && !each.is_symlink()) bytes += each.file_size();
  }
  return bytes;
}

}  // namespace

fs::path recorded_weights(const std::string& name) {
  return source_dir() / "tests/runtime/weights/recorded" / name;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file;
  return {std::istreambuf_iterator<char>(stream), {}};
}

weights_folder::weights_folder() {
  std::string name = (fs::temp_directory_path() / "test-weights-XXXXXX").string();
  folder_ = mkdtemp(name.data());
}
weights_folder::~weights_folder() {
  fs::remove_all(folder_);
}
fs::path weights_folder::write(const std::string& name, const std::string& bytes) const {
  // ext4 writes a file that takes the place of another one to the disk at once.
  fs::remove(folder_ / name);
  std::ofstream(folder_ / name, std::ios::binary) << bytes;
  return folder_ / name;
}

state_dict loaded(const fs::path& file) {
  auto dict = load_weights(file);
  EXPECT_TRUE(dict) << to_string(dict.error());
  return dict ? std::move(*dict) : state_dict{};
}

at::Tensor tensor_named(const state_dict& dict, const std::string& name) {
  const auto found = std::ranges::find(dict, name, &named_tensor::name);
  return found == dict.end() ? at::Tensor() : found->tensor;
}

bool equals_in_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined() || a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  const at::Tensor one = a.contiguous();
  const at::Tensor other = b.contiguous();
  return a.nbytes() == 0 || std::memcmp(one.data_ptr(), other.data_ptr(), a.nbytes()) == 0;
}

void expect_equal(const state_dict& found, const state_dict& wanted, const std::string& where) {
  ASSERT_EQ(found.size(), wanted.size()) << where;
  ASSERT_FALSE(wanted.empty()) << where;
  for (const named_tensor& each : wanted) {
    EXPECT_TRUE(equals_in_bits(tensor_named(found, each.name), each.tensor)) << where << " " << each.name;
  }
}

std::string weights_outcome(const fs::path& file) {
  const auto read = load_weights(file);
  return read ? "good" : to_string(read.error());
}

std::string bounded_weights_outcome(const fs::path& file) {
  const std::uint64_t promised = 2 * bytes_beside(file) + (64u << 20);
  malloc_trim(0);  // what the test has freed would be used again, and not be seen
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string outcome = weights_outcome(file);
  const std::uint64_t peak = memory_now("VmHWM");
  // AddressSanitizer keeps what was freed.
  if (!sanitized) {
    EXPECT_LE(peak, before + promised) << outcome;
  }
  return outcome;
}

}  // namespace troupe::testing
