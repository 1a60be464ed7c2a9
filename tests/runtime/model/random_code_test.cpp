// Goal: what makes results differ from run to run is found in the code of a model, with its operator, and nothing that
// an ordinary model in eval mode has is taken for it. Method: modules that LibTorch compiles, on their way through a
// file, as users' models come.
#include "runtime/model/random_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// Of a module in eval mode with a forward of these statements, a buffer `mean` and one `var`, and a number `rate`.
std::optional<std::string> random_in(const std::string& statements) {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("rate", c10::FloatType::get(), 0.0);
  module.register_buffer("mean", at::zeros({3}));
  module.register_buffer("var", at::ones({3}));
  module.define("def forward(self, x):\n" + statements);
  const auto loaded = saved_and_loaded(module);
  EXPECT_TRUE(loaded) << statements << (loaded ? "" : to_string(loaded.error()));
  return loaded ? find_random(*layers_of(*loaded), 0) : std::nullopt;
}

TEST(random_code, is_found_with_its_operator) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"  return torch.dropout(x, 0.5, True)\n", "draws random numbers: aten::dropout with training on"},
      {"  return torch.feature_dropout(x, 0.5, True)\n", "aten::feature_dropout"},
      {"  return torch.alpha_dropout(x, 0.5, True)\n", "aten::alpha_dropout"},
      {"  return torch.rrelu(x, 0.1, 0.3, True)\n", "aten::rrelu"},
      {"  return x + torch.randn([3])\n", "aten::randn"},
      {"  return x + torch.rand([3])\n", "aten::rand"},
      {"  return x + torch.randint(0, 9, [3])\n", "aten::randint"},
      {"  return x + torch.rand_like(x)\n", "aten::rand_like"},
      {"  return x[torch.randperm(x.size(0))]\n", "aten::randperm"},
      {"  return torch.bernoulli(x)\n", "aten::bernoulli"},
      {"  return torch.bernoulli(x, 0.0)\n", "aten::bernoulli"},
      {"  return x + torch.multinomial(torch.ones([3]), 1)\n", "aten::multinomial"},
      {"  return x + torch.normal(x, 1.0)\n", "aten::normal"},
      {"  return x + torch.poisson(torch.abs(x))\n", "aten::poisson"},
      {"  return x + torch.empty_like(x).uniform_()\n", "aten::uniform_"},
      {"  return x + torch.zeros_like(x).normal_()\n", "aten::normal_"},
      {"  return x + torch.zeros_like(x).exponential_()\n", "aten::exponential_"},
      {"  return torch.scaled_dot_product_attention(x, x, x, None, 0.5)\n", "aten::scaled_dot_product_attention"},
      {"  return torch.batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5, False)\n",
       "keeps statistics of the micro-batches that it sees: aten::batch_norm with training on"},
      {"  if x.size(0) > 1:\n    x = x + torch.rand([3])\n  return x\n", "aten::rand"},
  };
  for (const auto& [statements, operation] : cases) {
    const auto found = random_in(statements);
    ASSERT_TRUE(found) << statements;
    EXPECT_THAT(*found, HasSubstr(operation));
  }
}

TEST(random_code, is_not_what_eval_mode_switches_off) {
  for (const std::string statements : {
           "  return torch.dropout(x, 0.5, self.training)\n",
           "  return torch.dropout(x, 0.5, False)\n",
           "  return torch.dropout(x, self.rate, True)\n",
           "  return torch.rrelu(x, 0.1, 0.3, self.training)\n",
           "  return torch.batch_norm(x, None, None, self.mean, self.var, self.training, 0.1, 1e-5, False)\n",
           "  return torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n",
           "  return torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n",
           "  if self.training:\n    x = x + torch.rand([3])\n  return x\n",
           "  if not self.training or self.rate == 0.0:\n    return x\n  return x * torch.empty([3]).bernoulli_(0.5)\n",
           "  return torch.scaled_dot_product_attention(x, x, x)\n",
           "  return torch.relu(x) + torch.arange(3) + torch.zeros([3])\n",
       }) {
    EXPECT_EQ(random_in(statements).value_or("nothing"), "nothing") << statements;
  }
}

TEST(random_code, is_found_in_a_child) {
  const auto child = scripted("child", "def forward(self, x):\n  return torch.dropout(x, 0.5, True)\n");
  const auto outer =
      container("outer", {{"inner", child}}, "def forward(self, x):\n  return self.inner.forward(x) + x\n");
  EXPECT_THAT(find_random(*layers_of(*make_model(outer, "outer")), 0).value_or(""), HasSubstr("aten::dropout"));
}

}  // namespace
}  // namespace troupe::testing
