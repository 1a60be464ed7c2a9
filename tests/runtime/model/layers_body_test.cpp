// Goal: a chain gives the same bits wherever it is cut, whatever its layers do with their input, and errors name the
// layer. Method: compared with the plain module that LibTorch loads, and with the uncut chain in the same process.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/optimize.hpp"
#include "tests/support/sanitized.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr optimize_mode all_modes[] = {optimize_mode::none, optimize_mode::layer, optimize_mode::stage};

struct real_model {
  std::string name;
  std::filesystem::path file;
  std::vector<std::int64_t> sample;
};

class real_model_test : public ::testing::TestWithParam<real_model> {
 protected:
  [[nodiscard]] at::Tensor images(std::int64_t count) const {
    at::manual_seed(7);
    std::vector<std::int64_t> sizes = GetParam().sample;
    sizes.insert(sizes.begin(), count);
    return at::rand(sizes);
  }
  layer_chain chain_ = *load_chain(GetParam().file);
};

TEST_P(real_model_test, every_cut_gives_the_same_bits) {
  for (const std::int64_t size : {1, 5}) {
    const at::Tensor input = images(size);
    for (const optimize_mode mode : {optimize_mode::none, optimize_mode::layer}) {
      const auto whole = run_cut(chain_, {}, mode, input);
      ASSERT_TRUE(whole) << to_string(whole.error());
      for (std::size_t cut = 1; cut < chain_.layers.size(); ++cut) {
        const auto output = run_cut(chain_, {cut}, mode, input);
        ASSERT_TRUE(output) << to_string(output.error());
        EXPECT_TRUE(same_bits(*output, *whole)) << "cut " << cut;
      }
    }
  }
}

TEST_P(real_model_test, any_number_of_stages_gives_the_same_bits) {
  const at::Tensor input = images(3);
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::layer}) {
    const auto whole = run_cut(chain_, {}, mode, input);
    std::vector<std::size_t> cuts;
    for (std::size_t stages = 2; stages <= chain_.layers.size(); ++stages) {
      cuts.push_back(stages - 1);
      const auto output = run_cut(chain_, cuts, mode, input);
      ASSERT_TRUE(whole && output);
      EXPECT_TRUE(same_bits(*output, *whole)) << stages << " stages";
    }
  }
}

TEST_P(real_model_test, without_optimization_the_bits_are_the_models_own) {
  torch::jit::Module plain = torch::jit::load(GetParam().file.string());
  plain.eval();
  const at::NoGradGuard no_gradients;
  for (const std::int64_t size : {1, 4}) {
    const at::Tensor input = images(size);
    at::set_num_threads(1);
    const at::Tensor wanted = plain.forward({input}).toTensor();
    const auto output = run_cut(chain_, {4, 9}, optimize_mode::none, input);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_TRUE(same_bits(*output, wanted));
  }
}

TEST_P(real_model_test, optimized_results_are_close) {
  const at::Tensor input = images(4);
  const auto plain = run_cut(chain_, {}, optimize_mode::none, input);
  for (const optimize_mode mode : {optimize_mode::layer, optimize_mode::stage}) {
    const auto output = run_cut(chain_, {6}, mode, input);
    ASSERT_TRUE(plain && output);
    EXPECT_TRUE(at::allclose(*output, *plain, 1e-4, 1e-4));
  }
}

TEST_P(real_model_test, repeated_runs_and_changing_sizes_keep_the_bits) {
  for (const optimize_mode mode : all_modes) {
    const auto body = layers_body::make(chain_, 0, chain_.layers.size(), {0, 1, mode, std::nullopt});
    ASSERT_TRUE(body) << to_string(body.error());
    (*body)->on_start();
    std::map<std::int64_t, at::Tensor> first;
    for (const std::int64_t size : {4, 4, 3, 4, 1, 3, 4, 1, 4, 4}) {
      const auto output = (*body)->forward(micro_batch(images(size)));
      ASSERT_TRUE(output) << to_string(output.error());
      const at::Tensor& tensor = as_tensors(*output).single();
      const auto [known, is_new] = first.emplace(size, tensor);
      EXPECT_TRUE(same_bits(tensor, known->second)) << "size " << size;
    }
  }
}

TEST_P(real_model_test, stages_that_share_optimized_layers_keep_the_bits) {
  const at::Tensor input = images(3);
  const auto shared = optimize_layers(chain_);
  ASSERT_TRUE(shared) << to_string(shared.error());
  const auto own = run_cut(chain_, {5}, optimize_mode::layer, input);
  const auto output = run_cut(*shared, {8}, optimize_mode::none, input);
  ASSERT_TRUE(own && output);
  EXPECT_TRUE(same_bits(*own, *output));
}

INSTANTIATE_TEST_SUITE_P(models, real_model_test,
                         ::testing::ValuesIn(fewer_if_sanitized<real_model>(
                             {{"lenet", lenet_file(), {1, 28, 28}}, {"resnet20", resnet_file(), {3, 32, 32}}}, {0})),
                         [](const auto& instance) { return instance.param.name; });

struct layer_source {
  std::string name;
  std::string body;
};

/// Layers that write their input, give back their input or a part, or give back what they own.
const std::vector<layer_source> difficult_layers{
    {"relu_", "  return torch.relu_(x)\n"},
    {"writes_a_view", "  y = x.view([-1])\n  y.mul_(2.0)\n  return x\n"},
    {"writes_and_forgets", "  x.add_(1.0)\n  return x * 2.0\n"},
    {"writes_a_slice", "  x[:, 0].zero_()\n  return x\n"},
    {"identity", "  return x\n"},
    {"transpose", "  return x.t().contiguous().t()\n"},
    {"slice", "  return x[:, 1:]\n"},
    {"strided_slice", "  return x[:, ::2]\n"},
    {"expand", "  return x[:, :1].expand([x.size(0), 5])\n"},
    {"own_weight", "  return self.weight.expand([x.size(0), 6])\n"},
};

torch::jit::Module difficult(const layer_source& source) {
  torch::jit::Module module("Difficult");
  module.register_parameter("weight", at::arange(6).to(at::kFloat) - 2, false);
  module.define("def forward(self, x):\n" + source.body);
  return module;
}

class difficult_layer_test : public ::testing::TestWithParam<layer_source> {};

TEST_P(difficult_layer_test, keeps_input_weights_and_bits_in_every_mode_and_cut) {
  const auto relu = scripted("ReLU", "def forward(self, x):\n  return torch.relu(x)\n");
  const auto writer = scripted("Writer", "def forward(self, x):\n  return x.contiguous().mul_(3.0)\n");
  const auto model = sequential("Net", {{"a", difficult(GetParam())}, {"b", writer}, {"c", relu}});
  const auto after = sequential("Net", {{"a", relu}, {"b", difficult(GetParam())}, {"c", writer}});
  for (const auto& variant : {model, after}) {
    const auto chain = saved_and_loaded(variant);
    ASSERT_TRUE(chain) << to_string(chain.error());
    const at::Tensor pristine = at::arange(24).to(at::kFloat).view({4, 6}) - 11.5;
    torch::jit::Module eager = variant.deepcopy();
    const at::Tensor wanted = eager.forward({pristine.clone()}).toTensor();
    for (const optimize_mode mode : all_modes) {
      for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, {1}, {2}, {1, 2}}) {
        const at::Tensor input = pristine.clone();
        // twice, as a replayed micro-batch must find everything as it was
        for (int attempt = 0; attempt < 2; ++attempt) {
          const auto output = run_cut(*chain, cuts, mode, input);
          ASSERT_TRUE(output) << to_string(output.error());
          EXPECT_TRUE(same_bits(*output, wanted)) << "mode " << static_cast<int>(mode) << ", cuts " << cuts.size();
          EXPECT_TRUE(same_bits(input, pristine));
          EXPECT_FALSE(output->is_alias_of(input));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(layers, difficult_layer_test, ::testing::ValuesIn(difficult_layers),
                         [](const auto& instance) { return instance.param.name; });

TEST(layers_body, a_first_layer_that_writes_leaves_a_stage_the_weights_of_the_one_before) {
  const auto chain =
      saved_and_loaded(sequential("Net", {{"w", difficult({"own", "  return self.weight\n"})},
                                          {"r", scripted("R", "def forward(self, x):\n  return x.mul_(2.0)\n")}}));
  ASSERT_TRUE(chain) << to_string(chain.error());
  const at::Tensor wanted = 2 * (at::arange(6).to(at::kFloat) - 2);
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::layer}) {
    const auto body = layers_body::make(*chain, 0, 2, {0, 1, mode, std::nullopt});
    ASSERT_TRUE(body) << to_string(body.error());
    for (int attempt = 0; attempt < 3; ++attempt) {
      const auto output = (*body)->forward(micro_batch(at::ones({6})));
      ASSERT_TRUE(output) << to_string(output.error());
      EXPECT_TRUE(same_bits(as_tensors(*output).single(), wanted));
    }
  }
}

TEST(layers_body, copies_keep_sizes_strides_values_and_alignment) {
  const at::Tensor base = at::arange(120).to(at::kFloat).view({6, 20});
  for (const at::Tensor& view : {base, base.t(), base.slice(1, 3, 17, 4), base.narrow(0, 2, 3), base[4],
                                 base.slice(1, 0, 1).expand({6, 7}), base.narrow(0, 0, 0), at::scalar_tensor(3)}) {
    const at::Tensor copy = faithful_copy(view);
    EXPECT_EQ(copy.sizes(), view.sizes());
    EXPECT_TRUE(at::equal(copy, view));
    EXPECT_FALSE(copy.is_alias_of(view));
    if (view.numel() == 0) continue;
    EXPECT_EQ(copy.strides(), view.strides());
    const auto address = [](const at::Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 64; };
    EXPECT_EQ(address(copy), address(view));
  }
}

TEST(layers_body, failures_name_stage_layer_and_micro_batch) {
  const auto chain = load_chain(lenet_file());
  ASSERT_TRUE(chain) << to_string(chain.error());
  for (const optimize_mode mode : all_modes) {
    const auto body = layers_body::make(*chain, 2, 15, {1, 1, mode, std::nullopt});
    ASSERT_TRUE(body) << to_string(body.error());
    activation bad = micro_batch(at::rand({2, 7, 32, 32}));
    bad.id = {3, 17};
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto output = (*body)->forward(bad);
      ASSERT_FALSE(output);
      const std::string text = to_string(output.error());
      EXPECT_EQ(output.error().code, error_code::forward_failed);
      EXPECT_THAT(text, HasSubstr("stage 1, layer 2 (2 Conv2d)"));
      EXPECT_THAT(text, HasSubstr("to have 1 channels, but got 7 channels"));
      EXPECT_EQ(text.find("Exception raised from"), std::string::npos) << text;
      EXPECT_EQ(text.find("Traceback"), std::string::npos) << text;
    }
    EXPECT_TRUE((*body)->forward(micro_batch(at::rand({2, 1, 32, 32}))));
  }
}

TEST(layers_body, sets_of_several_tensors_are_an_error) {
  const auto chain = load_chain(lenet_file());
  const auto body = layers_body::make(*chain, 0, 15, {});
  ASSERT_TRUE(body) << to_string(body.error());
  activation input;
  input.tensors = std::make_shared<const tensor_set>(std::vector{at::ones({1}), at::ones({1})});
  const auto output = (*body)->forward(input);
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().cause, HasSubstr("it got 2"));
}

TEST(layers_body, a_layer_that_cannot_be_frozen_is_named) {
  auto chain = load_chain(lenet_file());
  ASSERT_TRUE(chain) << to_string(chain.error());
  chain->layers[4].module.train(true);
  const auto body = layers_body::make(*chain, 2, 6, {0, 1, optimize_mode::layer, std::nullopt});
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, error_code::model_not_optimizable);
  EXPECT_THAT(body.error().where, HasSubstr("lenet.pt, layer 4 (4 MaxPool2d)"));
  EXPECT_THAT(body.error().fix, HasSubstr("--optimize none"));
}

}  // namespace
}  // namespace troupe::testing
