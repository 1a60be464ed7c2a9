// Goal: dropout and other draws depend on seed, step, sample and layer alone, and have the meaning that LibTorch gives
// them. Method: passes in different micro-batches, cuts and orders, and shares and moments of many draws.
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>

#include "runtime/training/training_pass.hpp"
#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

std::vector<std::uint64_t> samples(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> made;
  for (std::uint64_t each = begin; each < end; ++each) made.push_back(each);
  return made;
}

at::Tensor default_state() {
  return at::detail::getDefaultCPUGenerator().get_state();
}

template <class Draw>
at::Tensor drawn(std::uint64_t seed, std::uint64_t step, std::vector<std::uint64_t> of, std::size_t layer,
                 const Draw& draw) {
  training_pass pass({.seed = seed, .step = step, .samples = std::move(of)});
  pass.enter_layer(layer);
  return draw();
}

TEST(training_pass, draws_masks_by_sample) {
  const auto mask = [](std::int64_t rows) {
    return [rows] { return at::dropout(at::ones({rows, 3, 40}), 0.4, true); };
  };
  const at::Tensor all = drawn(1, 2, samples(10, 16), 3, mask(6));
  EXPECT_TRUE(
      at::equal(all, at::cat({drawn(1, 2, samples(10, 14), 3, mask(4)), drawn(1, 2, samples(14, 16), 3, mask(2))})));
  EXPECT_TRUE(at::equal(all.view({18, 40}), drawn(1, 2, samples(10, 16), 3,
                                                  [] {
                                                    return at::dropout(at::ones({18, 40}), 0.4, true);
                                                  })))
      << "rows of one sample lie together";
  EXPECT_FALSE(at::equal(all, drawn(2, 2, samples(10, 16), 3, mask(6)))) << "another seed";
  EXPECT_FALSE(at::equal(all, drawn(1, 3, samples(10, 16), 3, mask(6)))) << "another step";
  EXPECT_FALSE(at::equal(all, drawn(1, 2, samples(11, 17), 3, mask(6)))) << "other samples";
  EXPECT_FALSE(at::equal(all, drawn(1, 2, samples(10, 16), 4, mask(6)))) << "another layer";
  EXPECT_FALSE(at::equal(all[0], all[1]));
  training_pass pass({.samples = samples(0, 4)});
  pass.enter_layer(0);
  const at::Tensor first = mask(4)();
  EXPECT_FALSE(at::equal(first, mask(4)())) << "the second dropout of a layer";
}

TEST(training_pass, has_the_shares_and_moments_of_dropout) {
  training_pass pass({.samples = samples(0, 100)});
  const at::Tensor ones = at::ones({100, 2000});
  const at::Tensor kept = at::dropout(ones, 0.3, true);
  EXPECT_NEAR(kept.ne(0).to(at::kDouble).mean().item<double>(), 0.7, 0.005);
  EXPECT_TRUE(at::allclose(kept.masked_select(kept.ne(0)), at::full({1}, 1 / 0.7F)));
  const at::Tensor normal = at::randn({100, 2000}, at::make_generator<at::CPUGeneratorImpl>(5));
  const at::Tensor alpha = at::alpha_dropout(normal, 0.3, true);
  EXPECT_NEAR(alpha.mean().item<double>(), 0, 0.02);
  EXPECT_NEAR(alpha.std().item<double>(), 1, 0.02);
  const at::Tensor features = at::feature_dropout(at::ones({100, 50, 4, 4}), 0.5, true);
  EXPECT_TRUE(at::equal(features.amax({2, 3}), features.amin({2, 3}))) << "whole channels";
  EXPECT_NEAR(features.ne(0).to(at::kDouble).mean().item<double>(), 0.5, 0.03);
  at::Tensor in_place = at::ones({100, 10});
  at::dropout_(in_place, 1, true);
  EXPECT_EQ(in_place.sum().item<double>(), 0);
  EXPECT_TRUE(at::equal(at::dropout(ones, 0.3, false), ones));
}

TEST(training_pass, leaves_the_process_wide_generator_alone) {
  const at::Tensor before = default_state();
  const auto draw = [] { return at::rand({5}) + at::randn({5}) + at::randperm(5) + at::bernoulli(at::full({5}, 0.5)); };
  const at::Tensor first = drawn(1, 0, samples(3, 5), 2, draw);
  EXPECT_TRUE(at::equal(first, drawn(1, 0, samples(3, 5), 2, draw)));
  EXPECT_FALSE(at::equal(first, drawn(1, 1, samples(3, 5), 2, draw)));
  EXPECT_TRUE(at::equal(default_state(), before));
  at::rand({1});
  EXPECT_FALSE(at::equal(default_state(), before)) << "outside of a pass nothing is changed";
}

TEST(training_pass, attention_and_recurrent_layers_draw_by_key) {
  const at::Tensor before = default_state();
  const at::Tensor q = formula_uniform("q", {2, 2, 6, 4});
  const auto attend = [&] { return at::scaled_dot_product_attention(q, q, q, {}, 0.5); };
  const at::Tensor first = drawn(1, 0, samples(0, 2), 0, attend);
  EXPECT_TRUE(at::equal(first, drawn(1, 0, samples(0, 2), 0, attend)));
  EXPECT_FALSE(at::equal(first, drawn(1, 1, samples(0, 2), 0, attend)));
  EXPECT_TRUE(at::equal(default_state(), before));
}

struct noisy_impl : torch::nn::Module {
  noisy_impl() { weight = register_parameter("weight", at::ones({12})); }
  at::Tensor forward(const at::Tensor& x) { return (x + at::randn_like(x)) * weight; }
  at::Tensor weight;
};
TORCH_MODULE_IMPL(noisy, noisy_impl);

TEST(training_pass, a_users_layer_may_draw_as_it_likes) {
  std::vector<layer_spec> layers = mlp_layers();
  layers.insert(layers.begin(), layer_spec("Noisy", [] { return noisy(); }));
  const auto batches = row_batches("noisy", {4, 3});
  plain_pipeline whole = pipeline_of(layers, {}, {.seed = 1});
  const double loss = get(whole.step(batches, 0.1));
  for (const std::uint32_t interval : {0, 1, 2}) {
    plain_pipeline cut = pipeline_of(layers, {1, 4}, {.seed = 1, .recompute_interval = interval});
    EXPECT_EQ(get(cut.step(batches, 0.1)), loss);
    expect_equal(cut.weights(), whole.weights());
  }
  EXPECT_NE(get(pipeline_of(layers, {}, {.seed = 2}).step(batches, 0.1)), loss);
}

TEST(layer_part, initial_weights_are_those_of_the_seed_and_the_layer) {
  const auto layers = [] {
    return std::vector<layer_spec>{layer_spec("Linear", [] { return torch::nn::Linear(5, 6); }),
                                   layer_spec("Linear", [] { return torch::nn::Linear(6, 3); })};
  }();
  const at::Tensor before = default_state();
  const auto alone = get(make_layer_part(layers, 1, 2, 40));
  const auto both = get(make_layer_part(layers, 0, 2, 40));
  EXPECT_TRUE(at::equal(default_state(), before));
  EXPECT_TRUE(at::equal(alone->parameters().at("1.weight"), both->parameters().at("1.weight")));
  at::manual_seed(41);
  EXPECT_TRUE(at::equal(alone->parameters().at("1.weight"), torch::nn::Linear(6, 3)->weight));
}

}  // namespace
}  // namespace troupe::testing
