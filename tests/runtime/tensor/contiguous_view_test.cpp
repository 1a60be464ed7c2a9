// Goal: contiguous_view gives rows as narrow(0, ...) does, without the dispatcher, and never leaves its storage.
// Method: both on many shapes, types and ranges, compared.
#include <gtest/gtest.h>

#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

at::Tensor rows_of(const at::Tensor& tensor, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[0] = end - begin;
  return contiguous_view(tensor, tensor.storage_offset() + begin * tensor.stride(0), sizes);
}

void expect_same_view(const at::Tensor& view, const at::Tensor& reference, const at::Tensor& whole) {
  EXPECT_EQ(view.sizes(), reference.sizes());
  EXPECT_EQ(view.strides(), reference.strides());
  EXPECT_EQ(view.storage_offset(), reference.storage_offset());
  EXPECT_EQ(view.scalar_type(), reference.scalar_type());
  EXPECT_EQ(view.device(), reference.device());
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(view.const_data_ptr(), reference.const_data_ptr());
  EXPECT_TRUE(view.storage().is_alias_of(whole.storage()));
  EXPECT_TRUE(at::equal(view, reference));
}

class contiguous_view_test : public ::testing::TestWithParam<std::vector<std::int64_t>> {};

TEST_P(contiguous_view_test, equals_narrow_for_every_range) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kLong, at::kByte, at::kBool, at::kHalf}) {
    const at::Tensor whole = at::randint(0, 2, GetParam(), at::kFloat).to(type);
    for (std::int64_t begin = 0; begin <= whole.size(0); ++begin) {
      for (std::int64_t end = begin; end <= whole.size(0); ++end) {
        SCOPED_TRACE(::testing::Message() << whole.sizes() << " [" << begin << ", " << end << ") " << type);
        expect_same_view(rows_of(whole, begin, end), whole.narrow(0, begin, end - begin), whole);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(shapes, contiguous_view_test,
                         ::testing::Values(std::vector<std::int64_t>{1}, std::vector<std::int64_t>{7},
                                           std::vector<std::int64_t>{0}, std::vector<std::int64_t>{5, 3},
                                           std::vector<std::int64_t>{4, 1}, std::vector<std::int64_t>{4, 0},
                                           std::vector<std::int64_t>{3, 0, 2}, std::vector<std::int64_t>{0, 3, 2},
                                           std::vector<std::int64_t>{6, 1, 2, 3},
                                           std::vector<std::int64_t>{1, 2, 2, 2, 2}));

TEST(contiguous_view, of_a_view_counts_from_the_storage) {
  const at::Tensor whole = at::arange(60).reshape({10, 2, 3});
  const at::Tensor outer = rows_of(whole, 3, 9);
  expect_same_view(rows_of(outer, 2, 5), whole.narrow(0, 5, 3), whole);
}

TEST(contiguous_view, keeps_the_storage_alive_and_shares_writes) {
  at::Tensor whole = at::zeros({4, 2});
  const at::Tensor view = rows_of(whole, 1, 3);
  whole[2][1] = 7;
  whole.reset();
  EXPECT_EQ(view[1][1].item<float>(), 7);
}

TEST(contiguous_view, views_foreign_memory_too) {
  std::vector<float> memory(12);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const at::Tensor whole = at::from_blob(memory.data(), {6, 2}, at::kFloat);
  EXPECT_EQ(rows_of(whole, 4, 6).const_data_ptr<float>(), memory.data() + 8);
}

TEST(contiguous_view, works_as_an_input_of_kernels) {
  const at::Tensor whole = at::randn({9, 1, 6, 6});
  const at::Tensor weight = at::randn({2, 1, 3, 3});
  EXPECT_TRUE(at::equal(at::conv2d(rows_of(whole, 4, 7), weight), at::conv2d(whole.narrow(0, 4, 3), weight)));
}

TEST(contiguous_view, places_any_shape_at_any_offset) {
  const at::Tensor owner = at::arange(20);
  const std::vector<std::int64_t> sizes{2, 3};
  const at::Tensor view = contiguous_view(owner, 5, sizes);
  EXPECT_TRUE(at::equal(view, owner.narrow(0, 5, 6).reshape({2, 3})));
  EXPECT_EQ(view.strides(), (std::vector<std::int64_t>{3, 1}));
  EXPECT_TRUE(view.storage().is_alias_of(owner.storage()));
}

TEST(contiguous_view_death, never_leaves_its_storage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch has started threads
  const at::Tensor owner = at::arange(20);
  const std::vector<std::int64_t> sizes{2, 3};
  EXPECT_DEATH(contiguous_view(owner, 15, sizes), "inside its storage");
  EXPECT_DEATH(contiguous_view(owner, -1, sizes), "inside its storage");
}

}  // namespace
}  // namespace troupe
