// Goal: what save_weights() writes is read again with equal bits, in both formats; tensors that share memory go on
// doing so; and a file is written whole or not at all.
#include <csignal>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "runtime/weights/safetensors_header.hpp"
#include "weights_files.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<weights_format> formats{weights_format::safetensors, weights_format::torch_zip};

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(folder)) names.push_back(each.path().filename());
  return names;
}

TEST(saved_weights, have_the_bits_of_all_types) {
  for (const char* source : {"all_types.safetensors", "ordered.pt", "new_types.pt", "parameters.pt"}) {
    state_dict dict = loaded(recorded_weights(source));
    for (const weights_format format : formats) {
      const weights_folder folder;
      const auto file = folder.path() / "saved";
      const auto saved = save_weights(file, dict, format);
      ASSERT_TRUE(saved) << to_string(saved.error());
      const state_dict again = loaded(file);
      expect_equal(again, dict, source);
      for (std::size_t i = 0; i < dict.size(); ++i) EXPECT_EQ(again.at(i).name, dict[i].name);
      EXPECT_EQ(files_in(folder.path()).size(), 1U);
    }
  }
}

TEST(saved_weights, in_zip_format_go_on_sharing_memory) {
  const at::Tensor base = at::arange(12, at::kFloat).view({3, 4});
  const weights_folder folder;
  const auto file = folder.path() / "tied.pt";
  ASSERT_TRUE(save_weights(file, {{"a", base}, {"b", base}, {"c", base.t()[1]}}, weights_format::torch_zip));
  const state_dict again = loaded(file);
  EXPECT_EQ(tensor_named(again, "a").data_ptr(), tensor_named(again, "b").data_ptr());
  EXPECT_EQ(tensor_named(again, "c").strides().vec(), std::vector<std::int64_t>{4});
  tensor_named(again, "a").fill_(3);
  EXPECT_TRUE(equals_in_bits(tensor_named(again, "c"), at::full({3}, 3, at::kFloat)));
}

TEST(saved_weights, in_safetensors_lie_at_multiples_of_their_elements) {
  const weights_folder folder;
  const auto file = folder.path() / "w.safetensors";
  ASSERT_TRUE(save_weights(file, {{"bytes", at::ones({3}, at::kByte)},
                                  {"double", at::ones({1}, at::kDouble)},
                                  {"half", at::ones({1}, at::kHalf)},
                                  {"float", at::ones({1}, at::kFloat)}}));
  const std::string bytes = bytes_of(file);
  std::uint64_t header = 0;
  for (int i = 0; i < 8; ++i) header |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  EXPECT_EQ((8 + header) % 64, 0U);
  EXPECT_THAT(bytes.substr(8, header), HasSubstr(R"("__metadata__":{"format":"pt"})"));
  const auto entries = parse_safetensors_header(bytes.substr(8, header), 1 << 20);
  ASSERT_TRUE(entries);
  for (const auto& each : *entries) {
    const std::uint64_t element = each.dtype == "F64" ? 8 : each.dtype == "F32" ? 4 : each.dtype == "F16" ? 2 : 1;
    EXPECT_EQ(each.begin % element, 0U) << each.name;
  }
  expect_equal(loaded(file),
               {{"double", at::ones({1}, at::kDouble)},
                {"float", at::ones({1}, at::kFloat)},
                {"half", at::ones({1}, at::kHalf)},
                {"bytes", at::ones({3}, at::kByte)}},
               "w.safetensors");
}

TEST(saved_weights, that_cannot_be_saved_leave_nothing_behind) {
  const at::Tensor plain = at::ones({2});
  for (const weights_format format : formats) {
    const weights_folder folder;
    const auto file = folder.path() / "saved";
    const auto outcome = [&](const state_dict& dict) {
      const auto saved = save_weights(file, dict, format);
      return saved ? "good" : to_string(saved.error());
    };
    EXPECT_THAT(outcome({{"w", plain}, {"w", plain}}), HasSubstr("E0217"));
    EXPECT_THAT(outcome({{"w", at::ones({2, 2}).to_sparse()}}), HasSubstr("E0217"));
    EXPECT_THAT(outcome({{"w", at::empty({2}, at::device(at::kMeta))}}), HasSubstr("E0217"));
    EXPECT_THAT(outcome({{"w", at::Tensor()}}), HasSubstr("E0217"));
    EXPECT_THAT(files_in(folder.path()), IsEmpty());
    EXPECT_EQ(outcome({{"w", plain}}), "good");
    const std::string before = bytes_of(file);
    EXPECT_THAT(outcome({{"w", at::ones({2, 2}).to_sparse()}}), HasSubstr("E0217"));
    EXPECT_EQ(bytes_of(file), before) << "the old file stays whole";
    const auto missing = save_weights(folder.path() / "nothing" / "saved", {{"w", plain}}, format);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, error_code::output_unwritable);
  }
}

/// A limit on the size of a file stands for a full disk: both make a write fail in the middle.
TEST(saved_weights, that_do_not_fit_the_disk_leave_nothing_behind) {
  const auto ignored = signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const weights_format format : formats) {
    const weights_folder folder;
    const rlimit small{.rlim_cur = 100'000, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto saved = save_weights(folder.path() / "w", {{"v", at::ones({30'000})}, {"w", at::ones({9})}}, format);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_FALSE(saved);
    EXPECT_THAT(to_string(saved.error()), HasSubstr("E0611"));
    EXPECT_THAT(files_in(folder.path()), IsEmpty());
  }
  signal(SIGXFSZ, ignored);
}

}  // namespace
}  // namespace troupe::testing
