// Goal: rounding passes, everything else that could be a wrong fold does not: values beyond the tolerance of the dtype,
// NaN and infinities at other places, another form or other strides. Method: tensors written by hand.
#include "runtime/model/output_difference.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(output_difference, passes_rounding_by_the_dtype_and_the_largest_magnitude) {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const double share = tolerance_of(dtype);
    ASSERT_GT(share, 0.0);
    const at::Tensor plain = at::tensor({0.0, -8.0, 2.0}, at::kDouble);
    const auto moved = [&](double by) { return (plain + at::tensor({by, 0.0, 0.0}, at::kDouble)).to(dtype); };
    EXPECT_FALSE(difference_of(moved(0.9 * 8 * share), plain.to(dtype))) << c10::toString(dtype);
    EXPECT_TRUE(difference_of(moved(1.1 * 8 * share), plain.to(dtype))) << c10::toString(dtype);
  }
  EXPECT_LT(tolerance_of(at::kFloat), 1e-3) << "a fold that is wrong moves outputs by more";
  EXPECT_THAT(*difference_of(at::tensor({1.5F, 4.0F}), at::tensor({1.0F, 4.0F})),
              HasSubstr("outputs differ by up to 0.5, the largest being 4 (allowed is 1.5e-05 times that)"));
}

TEST(output_difference, wants_integers_and_truth_values_equal) {
  for (const auto dtype : {at::kLong, at::kByte, at::kBool}) {
    const at::Tensor plain = at::tensor({0, 1, 1}).to(dtype);
    EXPECT_FALSE(difference_of(plain.clone(), plain));
    EXPECT_TRUE(difference_of(at::tensor({0, 1, 0}).to(dtype), plain)) << c10::toString(dtype);
  }
  const std::int64_t large = (std::int64_t{1} << 60) + 1;
  EXPECT_TRUE(difference_of(at::full({1}, large - 1, at::kLong), at::full({1}, large, at::kLong)));
}

TEST(output_difference, wants_what_is_not_finite_at_the_same_places) {
  const at::Tensor plain = at::tensor({1.0F, nan, infinity, -infinity});
  EXPECT_FALSE(difference_of(plain.clone(), plain));
  EXPECT_THAT(*difference_of(at::tensor({nan, nan, infinity, -infinity}), plain), HasSubstr("NaN"));
  EXPECT_THAT(*difference_of(at::tensor({1.0F, 1.0F, infinity, -infinity}), plain), HasSubstr("NaN"));
  EXPECT_THAT(*difference_of(at::tensor({1.0F, nan, infinity, infinity}), plain), HasSubstr("infinity"));
  EXPECT_THAT(*difference_of(at::tensor({1.0F, nan, 7.0F, -infinity}), plain), HasSubstr("infinity"));
  EXPECT_THAT(*difference_of(at::tensor({infinity, nan, infinity, -infinity}), plain), HasSubstr("infinity"));
}

TEST(output_difference, wants_the_same_form_and_the_strides_that_the_next_layer_sees) {
  const at::Tensor plain = at::rand({3, 4});
  EXPECT_THAT(*difference_of(plain.to(at::kDouble), plain), HasSubstr("Double [3, 4] in place of Float [3, 4]"));
  EXPECT_TRUE(difference_of(plain.reshape({4, 3}), plain));
  EXPECT_THAT(*difference_of(plain.t().contiguous().t(), plain), HasSubstr("strides [1, 3] in place of [4, 1]"));
  EXPECT_FALSE(difference_of(plain.as_strided({3, 1, 4}, {4, 99, 1}), plain.as_strided({3, 1, 4}, {4, 4, 1})));
  EXPECT_FALSE(difference_of(at::empty({0, 4}), at::empty({0, 4})));
}

TEST(output_difference, takes_what_is_no_plain_row_of_numbers) {
  const at::Tensor complex = at::complex(at::rand({4}), at::rand({4}));
  EXPECT_FALSE(difference_of(complex.clone(), complex));
  EXPECT_TRUE(difference_of(complex.conj(), complex));
  const at::Tensor quantized = at::quantize_per_tensor(at::rand({4}), 0.1, 3, at::kQInt8);
  EXPECT_FALSE(difference_of(quantized.clone(), quantized));
  EXPECT_TRUE(difference_of(at::quantize_per_tensor(at::rand({4}) + 1, 0.1, 3, at::kQInt8), quantized));
}

TEST(same_bits, is_more_than_the_same_values) {
  const at::Tensor one = at::tensor({0.0F, nan});
  EXPECT_TRUE(are_same_bits(one, one.clone()));
  EXPECT_FALSE(are_same_bits(one, at::tensor({-0.0F, nan})));
  EXPECT_FALSE(are_same_bits(one, one.to(at::kDouble)));
  const at::Tensor square = at::ones({2, 2});
  EXPECT_FALSE(are_same_bits(square, square.t()));
  EXPECT_TRUE(are_same_bits(square.to_sparse(), square.clone().to_sparse()));
  EXPECT_FALSE(are_same_bits(square.to_sparse(), (2 * square).to_sparse()));
}

}  // namespace
}  // namespace troupe::testing
