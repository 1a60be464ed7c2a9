// Goal: elementwise operators in whole vectors give a number the same bits at every place, and LibTorch's own where
// that has whole vectors. Method: LibTorch's operators, and batches against their own rows.
#include "runtime/rewrite/whole_vectors.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/runtime/interpreter.h>

namespace troupe {
namespace {

/// A graph of one operator of %x, and the constants before it.
std::shared_ptr<torch::jit::Graph> graph_of(const std::string& constants, const std::string& call) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR("graph(%x : Tensor):\n" + constants + "  %y : Tensor = " + call + "\n  return (%y)\n",
                      graph.get());
  return graph;
}

at::Tensor run(const std::shared_ptr<torch::jit::Graph>& graph, const at::Tensor& x) {
  const torch::jit::Code code(graph, "forward");
  const c10::InferenceMode guard;
  std::vector<c10::IValue> stack{x};
  torch::jit::InterpreterState(code).run(stack);
  return stack.at(0).toTensor();
}

const std::string one = "  %one : float = prim::Constant[value=1.]()\n";
const std::string twenty = "  %twenty : int = prim::Constant[value=20]()\n";
const std::string tanh_name = "  %name : str = prim::Constant[value=\"tanh\"]()\n";
const std::string erf_name = "  %name : str = prim::Constant[value=\"none\"]()\n";
const std::string exponent = "  %exponent : float = prim::Constant[value=2.5]()\n";

struct element_case {
  std::string constants;
  std::string call;
};

void PrintTo(const element_case& one_case, std::ostream* out) {
  *out << one_case.call;
}

const std::vector<element_case> cases = {
    {"", "aten::sigmoid(%x)"},
    {"", "aten::silu(%x)"},
    {"", "aten::mish(%x)"},
    {one, "aten::elu(%x, %one, %one, %one)"},
    {one + twenty, "aten::softplus(%x, %one, %twenty)"},
    {tanh_name, "aten::gelu(%x, %name)"},
    {erf_name, "aten::gelu(%x, %name)"},
    {exponent, "aten::pow(%x, %exponent)"},
};

class whole_vectors : public ::testing::TestWithParam<element_case> {
 protected:
  void SetUp() override {
    at::manual_seed(1);
    rewritten_ = plain_->copy();
    rewrite_report report;
    use_whole_vectors(*rewritten_, report);
    rewritten_->lint();
    EXPECT_EQ(report.in_whole_vectors, 1U);
  }
  /// Both signs, but for pow, which gives NaN for negative numbers.
  static at::Tensor numbers(at::IntArrayRef sizes) {
    return at::rand(sizes) * 4 - (GetParam().call.starts_with("aten::pow") ? 0 : 2);
  }
  void TearDown() override { at::set_num_threads(threads_before_); }

  std::shared_ptr<torch::jit::Graph> plain_ = graph_of(GetParam().constants, GetParam().call);
  std::shared_ptr<torch::jit::Graph> rewritten_;
  int threads_before_ = at::get_num_threads();
};

TEST_P(whole_vectors, give_a_sample_the_same_bits_in_every_batch_and_on_all_threads) {
  for (const std::int64_t size : {1, 7, 100, 1000}) {
    at::set_num_threads(1);
    const at::Tensor x = numbers({257, size});
    const at::Tensor all = run(rewritten_, x);
    for (const int threads : {1, 2, 3, 7}) {
      at::set_num_threads(threads);
      ASSERT_TRUE(at::equal(run(rewritten_, x), all)) << threads << " threads";
    }
    for (std::int64_t rows = 1; rows <= 257; ++rows) {
      const at::Tensor last = x.narrow(0, 257 - rows, rows).clone();
      ASSERT_TRUE(at::equal(run(rewritten_, last), all.narrow(0, 257 - rows, rows))) << rows << " x " << size;
    }
  }
}

TEST_P(whole_vectors, give_the_bits_of_libtorch_where_it_has_whole_vectors) {
  at::set_num_threads(1);
  const at::Tensor x = numbers({5, 64});
  EXPECT_TRUE(at::equal(run(rewritten_, x), run(plain_, x)));
  const at::Tensor odd = numbers({7, 111});
  EXPECT_TRUE(at::allclose(run(rewritten_, odd), run(plain_, odd), 1e-6, 1e-7));
}

TEST_P(whole_vectors, keep_types_shapes_and_strides) {
  const auto expect_like_plain = [&](const at::Tensor& x) {
    const at::Tensor expected = run(plain_, x);
    const at::Tensor y = run(rewritten_, x);
    EXPECT_EQ(y.scalar_type(), expected.scalar_type());
    EXPECT_EQ(y.sizes(), expected.sizes());
    EXPECT_EQ(y.strides(), expected.strides());
    EXPECT_TRUE(at::allclose(y, expected, 1e-2, 1e-2)) << x.sizes();
  };
  expect_like_plain(at::rand({}));
  expect_like_plain(at::rand({0, 3}));
  expect_like_plain(at::rand({2, 3, 5, 7}));
  expect_like_plain(at::rand({2, 3, 5, 7}).contiguous(at::MemoryFormat::ChannelsLast));
  expect_like_plain(at::rand({9, 11}).t());
  expect_like_plain(at::rand({9, 22}).slice(1, 0, 22, 2));
  expect_like_plain(at::rand({1, 11}).expand({9, 11}));
  expect_like_plain(at::rand({70, 3}).to(at::kDouble));
  expect_like_plain(at::rand({70, 3}).to(at::kBFloat16));
}

TEST_P(whole_vectors, have_forms_in_place) {
  const std::string call = GetParam().call;
  if (call.starts_with("aten::softplus")) return;  // LibTorch has none
  const std::size_t name_end = call.find('(');
  const auto graph = graph_of(GetParam().constants, call.substr(0, name_end) + "_" + call.substr(name_end));
  rewrite_report report;
  use_whole_vectors(*graph, report);
  EXPECT_EQ(report.in_whole_vectors, 1U);
  const at::Tensor x = numbers({5, 111});
  const at::Tensor expected = run(rewritten_, x);
  const at::Tensor y = run(graph, x);
  EXPECT_TRUE(at::equal(y, expected));
  EXPECT_EQ(y.const_data_ptr(), x.const_data_ptr());
  const at::Tensor wide = numbers({5, 222});
  const at::Tensor narrow = wide.slice(1, 0, 222, 2);
  const at::Tensor expected_narrow = run(rewritten_, narrow);
  run(graph, narrow);
  EXPECT_TRUE(at::equal(narrow, expected_narrow));
}

INSTANTIATE_TEST_SUITE_P(all, whole_vectors, ::testing::ValuesIn(cases));

TEST(whole_vectors_pass, leaves_what_does_not_depend_on_the_place) {
  const std::string two = "  %exponent : int = prim::Constant[value=2]()\n";
  for (const auto& [constants, call] : std::vector<element_case>{
           {two, "aten::pow(%x, %exponent)"}, {"", "aten::tanh(%x)"}, {"", "aten::pow(%x, %x)"}}) {
    const auto graph = graph_of(constants, call);
    const std::string before = graph->toString();
    rewrite_report report;
    use_whole_vectors(*graph, report);
    EXPECT_EQ(graph->toString(), before);
    EXPECT_EQ(report, rewrite_report());
  }
}

}  // namespace
}  // namespace troupe
