// Goal: a tensor_set hands out exactly the handles it was given. Method: identities, and aborts where a caller errs.
#include "runtime/tensor/tensor_set.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

class other_payload final : public payload {};

TEST(tensor_set, keeps_handles_in_order_without_copies) {
  const at::Tensor a = at::ones({2, 3});
  const at::Tensor b = at::zeros({2});
  const payload_ptr handle = std::make_shared<const tensor_set>(std::vector<at::Tensor>{a, b});
  const tensor_set& set = as_tensors(handle);
  ASSERT_EQ(set.tensors().size(), 2U);
  EXPECT_TRUE(set.tensors()[0].is_same(a));
  EXPECT_TRUE(set.tensors()[1].is_same(b));
}

TEST(tensor_set, single_is_the_only_tensor) {
  const at::Tensor a = at::ones({2, 3});
  EXPECT_TRUE(as_tensors(make_tensors(a)).single().is_same(a));
}

TEST(tensor_set, may_be_empty) {
  EXPECT_TRUE(tensor_set(std::vector<at::Tensor>{}).tensors().empty());
}

TEST(tensor_set_death, single_of_none_or_several) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch has started threads
  EXPECT_DEATH(static_cast<void>(tensor_set(std::vector<at::Tensor>{}).single()), "one tensor");
  EXPECT_DEATH(static_cast<void>(tensor_set({at::ones({1}), at::ones({1})}).single()), "one tensor");
}

TEST(tensor_set_death, as_tensors_of_anything_else) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // LibTorch has started threads
  EXPECT_DEATH(as_tensors(nullptr), "only ever get tensors");
  EXPECT_DEATH(as_tensors(std::make_shared<const other_payload>()), "only ever get tensors");
}

}  // namespace
}  // namespace troupe
