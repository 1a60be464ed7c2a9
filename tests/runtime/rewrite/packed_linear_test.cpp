// Goal: troupe::linear takes all inputs that aten::linear does, and refuses others with both sizes. Method: a plain
// loop with std::fma, and at::linear.
#include "runtime/rewrite/packed_linear.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;

/// As a stage runs it: a graph of the operator, with the weights as a constant, in the bare interpreter.
at::Tensor run(const c10::IValue& weights, const at::Tensor& x, bool has_relu = false) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::Value* input = graph->addInput("x");
  torch::jit::Value* constant = graph->insertConstant(weights);
  graph->registerOutput(graph->insert(c10::Symbol::fromQualString("troupe::linear"), {input, constant, has_relu}));
  const torch::jit::Code code(graph, "forward");
  c10::InferenceMode guard;
  std::vector<c10::IValue> stack{x};
  torch::jit::InterpreterState(code).run(stack);
  return stack.at(0).toTensor();
}

std::string error_of(const c10::IValue& weights, const at::Tensor& x) {
  try {
    run(weights, x);
  } catch (const std::exception& caught) {
    return caught.what();
  }
  return "no error";
}

/// One chain of fused multiply-adds per output.
at::Tensor chains(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  at::Tensor y = at::empty({x.size(0), weight.size(0)});
  const auto from = x.accessor<float, 2>();
  const auto w = weight.accessor<float, 2>();
  auto to = y.accessor<float, 2>();
  for (int64_t m = 0; m < y.size(0); ++m) {
    for (int64_t n = 0; n < y.size(1); ++n) {
      float sum = bias.defined() ? bias.accessor<float, 1>()[n] : 0;
      for (int64_t k = 0; k < x.size(1); ++k) sum = std::fma(from[m][k], w[n][k], sum);
      to[m][n] = sum;
    }
  }
  return y;
}

at::Tensor random(at::IntArrayRef sizes) {
  return at::randn(sizes);
}

class packed_linear_operator : public ::testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }
};

TEST_F(packed_linear_operator, gives_the_bits_of_one_chain_per_output) {
  const at::Tensor weight = random({70, 45});
  const at::Tensor bias = random({70});
  const at::Tensor x = random({9, 45});
  const at::Tensor y = run(pack_linear(weight, bias), x);
  EXPECT_TRUE(at::equal(y, chains(x, weight, bias)));
  EXPECT_TRUE(at::allclose(y, at::linear(x, weight, bias), 1e-4, 1e-5));
  EXPECT_TRUE(at::equal(run(pack_linear(weight, bias), x, true), at::relu(y)));
  EXPECT_TRUE(at::equal(run(pack_linear(weight, {}), x), chains(x, weight, {})));
}

TEST_F(packed_linear_operator, gives_each_row_the_same_bits_at_every_batch_size) {
  const c10::IValue weights = pack_linear(random({130, 300}), random({130}));
  const at::Tensor x = random({257, 300});
  const at::Tensor all = run(weights, x);
  for (int64_t rows = 1; rows <= 257; ++rows) {
    ASSERT_TRUE(at::equal(run(weights, x.narrow(0, 257 - rows, rows)), all.narrow(0, 257 - rows, rows))) << rows;
  }
}

TEST_F(packed_linear_operator, gives_the_same_bits_on_several_threads) {
  const c10::IValue weights = pack_linear(random({300, 300}), random({300}));
  const at::Tensor x = random({257, 300});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = run(weights, x);
  const at::Tensor row = run(weights, x.narrow(0, 0, 1));
  for (const int threads : {2, 3, 7}) {
    at::set_num_threads(threads);
    EXPECT_TRUE(at::equal(run(weights, x), alone)) << threads;
    EXPECT_TRUE(at::equal(run(weights, x.narrow(0, 0, 1)), row)) << threads;
  }
  at::set_num_threads(before);
}

TEST_F(packed_linear_operator, takes_every_rank_and_every_stride) {
  const at::Tensor weight = random({20, 12});
  const c10::IValue weights = pack_linear(weight, {});
  const auto expect_rows = [&](const at::Tensor& x) {
    const at::Tensor y = run(weights, x);
    EXPECT_EQ(y.dim(), x.dim());
    EXPECT_TRUE(y.is_contiguous());
    EXPECT_TRUE(at::equal(y.reshape({-1, 20}), chains(x.reshape({-1, 12}), weight, {}))) << x.sizes();
  };
  expect_rows(random({12}));
  expect_rows(random({3, 12}));
  expect_rows(random({2, 3, 12}));
  expect_rows(random({2, 3, 2, 12}));
  expect_rows(random({12, 5}).t());
  expect_rows(random({5, 24}).narrow(1, 7, 12));
  expect_rows(random({5, 24}).slice(1, 0, 24, 2));
  expect_rows(random({4, 6, 12}).select(1, 2));
  expect_rows(random({4, 12, 6}).transpose(1, 2));
  expect_rows(random({1, 12}).expand({4, 12}));
  expect_rows(random({4, 1}).expand({4, 12}));
  EXPECT_EQ(run(weights, at::empty({0, 12})).sizes(), at::IntArrayRef({0, 20}));
  EXPECT_EQ(run(weights, at::empty({3, 0, 12})).sizes(), at::IntArrayRef({3, 0, 20}));
}

TEST_F(packed_linear_operator, packs_transposed_weights_as_they_lie) {
  const at::Tensor weight = random({12, 20});
  const at::Tensor bias = random({40}).slice(0, 0, 40, 2);
  const at::Tensor x = random({7, 12});
  EXPECT_TRUE(at::equal(run(pack_linear(weight.t(), bias), x), chains(x, weight.t(), bias)));
}

TEST_F(packed_linear_operator, rounds_bfloat16_once) {
  const at::Tensor weight = random({33, 100}).to(at::kBFloat16);
  const at::Tensor bias = random({33}).to(at::kBFloat16);
  const at::Tensor x = random({150, 100}).to(at::kBFloat16);
  const at::Tensor y = run(pack_linear(weight, bias), x);
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(y, chains(x.to(at::kFloat), weight.to(at::kFloat), bias.to(at::kFloat)).to(at::kBFloat16)));
}

TEST_F(packed_linear_operator, keeps_nan_in_its_row) {
  at::Tensor x = random({8, 20});
  x[3][4] = std::numeric_limits<float>::quiet_NaN();
  x[5][0] = std::numeric_limits<float>::infinity();
  const at::Tensor weight = random({17, 20});
  for (const bool has_relu : {false, true}) {
    const at::Tensor y = run(pack_linear(weight, {}), x, has_relu);
    const at::Tensor eager = has_relu ? at::relu(at::linear(x, weight)) : at::linear(x, weight);
    EXPECT_TRUE(at::equal(at::isnan(y), at::isnan(eager)));
    EXPECT_TRUE(at::equal(at::isinf(y), at::isinf(eager)));
  }
}

TEST_F(packed_linear_operator, refuses_other_shapes_and_types_with_both_sizes) {
  const c10::IValue weights = pack_linear(random({3, 4}), {});
  EXPECT_THAT(error_of(weights, random({2, 5})), HasSubstr("x has the sizes [2, 5], the weights [3, 4]"));
  EXPECT_THAT(error_of(weights, at::scalar_tensor(1.0F)), HasSubstr("x has the sizes [], the weights [3, 4]"));
  EXPECT_THAT(error_of(weights, random({2, 4}).to(at::kDouble)),
              HasSubstr("x is CPUDoubleType, the weights are Float"));
  EXPECT_FALSE(can_pack_linear(random({4}), {}));
  EXPECT_FALSE(can_pack_linear(at::empty({5, 0}), {}));
  EXPECT_FALSE(can_pack_linear(at::ones({1, 1}).expand({1 << 20, 1 << 20}), {})) << "more numbers than in memory";
  EXPECT_FALSE(can_pack_linear(random({3, 4}).to(at::kDouble), {}));
  EXPECT_FALSE(can_pack_linear(random({3, 4}), random({4})));
  EXPECT_FALSE(can_pack_linear(random({3, 4}), random({3}).to(at::kBFloat16)));
  EXPECT_THROW(pack_linear(random({3, 4}), random({4})), c10::Error);
}

}  // namespace
}  // namespace troupe
