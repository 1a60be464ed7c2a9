// Goal: a line of JSON gives back the number that was written, of every type and shape. Method: values of each type are
// written, read by nlohmann::json and compared with the tensor's own.
#include "runtime/predictions/json_values.hpp"

#include <cmath>
#include <limits>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using json = nlohmann::json;

std::string text_of(const at::Tensor& values, std::int64_t row) {
  std::string text;
  append_json(text, json_values(values), row);
  return text;
}

TEST(json_values, give_the_same_numbers_back) {
  at::manual_seed(3);
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor values = (at::randn({200}, at::kDouble) * at::exp(at::randn({200}, at::kDouble) * 8)).to(type);
    for (std::int64_t row = 0; row < 200; ++row) {
      const double wanted = values[row].item<double>();
      if (std::isinf(wanted)) continue;  // float16 ends at 65504
      const double read = json::parse(text_of(values, row)).get<double>();
      EXPECT_EQ(type == at::kDouble ? read : static_cast<float>(read), wanted) << c10::toString(type);
    }
  }
}

TEST(json_values, of_whole_numbers_are_exact) {
  const at::Tensor values = at::tensor({std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{0},
                                        std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(text_of(values, 0), "-9223372036854775808");
  EXPECT_EQ(text_of(values, 3), "9223372036854775807");
  EXPECT_EQ(text_of(at::tensor({3, 200}, at::kByte), 1), "200");
  EXPECT_EQ(text_of(at::tensor({0, 1}).to(at::kBool), 1), "1");
}

TEST(json_values, that_json_has_not_are_text) {
  const at::Tensor odd = at::tensor({NAN, INFINITY, -INFINITY}, at::kFloat);
  EXPECT_EQ(text_of(odd, 0), "\"NaN\"");
  EXPECT_EQ(text_of(odd, 1), "\"Infinity\"");
  EXPECT_EQ(text_of(odd, 2), "\"-Infinity\"");
}

TEST(json_values, are_nested_as_the_sample_is) {
  const at::Tensor values = at::arange(2 * 2 * 3, at::kLong).view({2, 2, 3});
  EXPECT_EQ(text_of(values, 1), "[[6,7,8],[9,10,11]]");
  EXPECT_EQ(text_of(values.view({12, 1}), 5), "5");
  EXPECT_EQ(text_of(at::zeros({2, 0}), 1), "[]");
  EXPECT_EQ(text_of(values.transpose(1, 2), 0), "[[0,3],[1,4],[2,5]]");
}

}  // namespace
}  // namespace troupe
