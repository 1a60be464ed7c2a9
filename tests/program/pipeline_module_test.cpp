// Goal: layers described in code give the bits of a plain loop, wherever they are cut; tied layers are one module;
// every mistake is named. Method: small torch::nn models with fixed weights, and loops written out here.
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "tests/program/support/plain_loop.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

torch::nn::Linear linear(std::int64_t in, std::int64_t out, double seed) {
  torch::nn::Linear made(in, out);
  const torch::NoGradGuard no_grad;
  made->weight.copy_(torch::arange(in * out).reshape({out, in}).add(seed).sin());
  made->bias.copy_(torch::arange(out).add(seed).cos());
  return made;
}

at::Tensor inputs(std::int64_t rows, double seed) {
  return torch::arange(rows * 6).reshape({rows, 6}).add(seed).cos();
}

std::vector<at::Tensor> mean_of(const at::Tensor& outputs, const at::Tensor&) {
  return {outputs.mean()};
}

layer_spec in_place_relu() {
  return layer_spec::function("ReLU", [](const at::Tensor& x) {
    at::Tensor mine = x;
    return mine.relu_();
  });
}

pipeline_module mlp() {
  return {.layers = {in_place_relu(), layer_spec("Linear", [] { return linear(6, 8, 1); }), in_place_relu(),
                     layer_spec("Linear", [] { return linear(8, 8, 2); }), in_place_relu(),
                     layer_spec("Linear", [] { return linear(8, 4, 3); })},
          .loss_fn = mean_of};
}

at::Tensor mlp_alone(const at::Tensor& input) {
  const torch::NoGradGuard no_grad;
  at::set_num_threads(1);
  at::Tensor value = linear(6, 8, 1)->forward(torch::relu(input));
  value = linear(8, 8, 2)->forward(torch::relu(value));
  return linear(8, 4, 3)->forward(torch::relu(value));
}

batch_list batches(int count) {
  batch_list made;
  for (int index = 0; index < count; ++index) {
    made.batches.push_back({inputs(3 + index % 2, index), at::zeros({3 + index % 2}, at::kLong)});
  }
  return made;
}

void expect_bits_of(const std::vector<at::Tensor>& found, const batch_list& given,
                    const std::function<at::Tensor(const at::Tensor&)>& plain) {
  ASSERT_EQ(found.size(), given.batches.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(torch::equal(found[i], plain(given.batches[i].inputs.only()))) << "micro-batch " << i;
  }
}

error error_of(const pipeline_module& module, pipeline_engine_options options = {.run = {.threads = 1}}) {
  const auto engine = pipeline_engine::create(module, std::move(options));
  EXPECT_FALSE(engine);
  return engine ? error{} : engine.error();
}

TEST(pipeline_module, gives_the_bits_of_a_plain_loop_however_it_is_cut) {
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    for (std::uint32_t replicas = 1; replicas <= 3; ++replicas) {
      for (const char* method : {"parameters", "uniform"}) {
        pipeline_module module = mlp();
        module.num_stages = stages;
        module.partition_method = method;
        auto engine = pipeline_engine::create(module, {.replicas = replicas, .run = {.threads = 1}});
        ASSERT_TRUE(engine) << to_string(engine.error());
        EXPECT_EQ((*engine)->num_stages(), stages);
        const batch_list given = batches(7);
        const auto output = (*engine)->eval_batch(given, {.return_logits = true, .num_micro_batches = 7});
        ASSERT_TRUE(output) << to_string(output.error());
        expect_bits_of(output->logits, given, mlp_alone);
      }
    }
  }
}

TEST(pipeline_module, tied_layers_are_one_module_in_different_stages) {
  int built = 0;
  std::vector<const void*> seen;
  std::mutex mutex;
  const auto note = [&](const torch::nn::Linear& module) {
    const std::lock_guard lock(mutex);
    seen.push_back(module->weight.const_data_ptr());
  };
  const auto build = [&] {
    ++built;
    return linear(6, 4, 5);
  };
  const auto there = [&](torch::nn::Linear& module, const at::Tensor& x) {
    note(module);
    return module->forward(x);
  };
  const auto back = [&](torch::nn::Linear& module, const at::Tensor& x) {
    note(module);
    return torch::matmul(x, module->weight);
  };
  const pipeline_module module{.layers = {tied_layer_spec("embedding", "Linear", build, there), in_place_relu(),
                                          tied_layer_spec("embedding", "Linear", build, back)},
                               .num_stages = 3};
  auto engine = pipeline_engine::create(module, {.run = {.threads = 1}});
  ASSERT_TRUE(engine) << to_string(engine.error());
  const batch_list given = batches(3);
  const auto output = (*engine)->eval_batch(
      given, {.return_logits = true, .compute_loss = false, .reduce_output = reduction::none, .num_micro_batches = 3});
  ASSERT_TRUE(output) << to_string(output.error());
  EXPECT_EQ(built, 1);
  EXPECT_EQ(seen.size(), 6u);
  for (const void* each : seen) EXPECT_EQ(each, seen.front());
  expect_bits_of(output->logits, given, [](const at::Tensor& x) {
    const torch::NoGradGuard no_grad;
    const torch::nn::Linear alone = linear(6, 4, 5);
    return torch::matmul(torch::relu(torch::nn::Linear(alone)->forward(x)), alone->weight);
  });
}

TEST(pipeline_module, layers_are_built_when_the_engine_is_made_and_once) {
  int built = 0;
  pipeline_module module{.layers = {layer_spec("Linear", [&] {
                           ++built;
                           return linear(6, 4, 1);
                         })}};
  EXPECT_EQ(built, 0);
  auto engine = pipeline_engine::create(module, {.replicas = 3, .run = {.threads = 1}});
  ASSERT_TRUE(engine) << to_string(engine.error());
  EXPECT_EQ(built, 1);
}

TEST(pipeline_module, a_process_topology_says_stages_and_replicas) {
  pipeline_module module = mlp();
  module.topology = *pipe_data_parallel_topology(2, 2);
  auto engine = pipeline_engine::create(module, {.run = {.threads = 1}});
  ASSERT_TRUE(engine) << to_string(engine.error());
  EXPECT_EQ((*engine)->num_stages(), 2u);
  EXPECT_TRUE(pipeline_engine::create(module, {.replicas = 2, .run = {.threads = 1}}));
  const error replicas = error_of(module, {.replicas = 3, .run = {.threads = 1}});
  EXPECT_EQ(replicas.code, error_code::flags_contradict);
  EXPECT_EQ(replicas.where, "replicas");
  module.topology = *pipe_model_data_parallel_topology(2, 2, 1);
  EXPECT_THAT(to_string(error_of(module)), HasSubstr("axis \"model\""));
}

TEST(pipeline_module, partition_by_type_and_by_boundaries) {
  for (const char* method : {"type:Linear", "0,2,4,6"}) {
    pipeline_module module = mlp();
    module.num_stages = 3;
    module.partition_method = method;
    EXPECT_TRUE(pipeline_engine::create(module, {.run = {.threads = 1}})) << method;
  }
}

TEST(pipeline_module, mistakes_are_named) {
  EXPECT_THAT(to_string(error_of({})), HasSubstr("there is no layer"));
  pipeline_module many = mlp();
  many.num_stages = 7;
  EXPECT_EQ(error_of(many).code, error_code::more_stages_than_layers);
  pipeline_module profiled = mlp();
  profiled.partition_method = "profile";
  EXPECT_EQ(error_of(profiled).code, error_code::flags_contradict);
  pipeline_module unmatched = mlp();
  unmatched.partition_method = "type:Conv";
  EXPECT_EQ(error_of(unmatched).code, error_code::partition_no_match);
  const auto throws = []() -> torch::nn::Linear { throw std::runtime_error("no weights today"); };
  EXPECT_THAT(to_string(error_of({.layers = {layer_spec("Linear", throws)}})),
              HasSubstr("layer 0 (Linear): it could not be built: no weights today"));
  EXPECT_THAT(to_string(error_of({.layers = {layer_spec::function("Nothing", nullptr)}})), HasSubstr("no forward"));
  const pipeline_module mixed{
      .layers = {tied_layer_spec("k", "Linear", [] { return linear(6, 6, 1); }), tied_layer_spec("k", "LayerNorm", [] {
                   return torch::nn::LayerNorm(torch::nn::LayerNormOptions({6}));
                 })}};
  EXPECT_THAT(to_string(error_of(mixed)), HasSubstr("layer 0 (Linear), which is a module of another type"));
  EXPECT_THAT(to_string(error_of(mlp(), {.run = {.threads = 1}, .sample = at::ones({2, 5})})),
              HasSubstr("layer 1 (Linear)"));
}

TEST(pipeline_module, a_forward_that_fails_names_stage_and_layer_and_leaves_the_engine_usable) {
  pipeline_module module = mlp();
  module.num_stages = 2;
  auto engine = pipeline_engine::create(module, {.run = {.threads = 1}});
  ASSERT_TRUE(engine) << to_string(engine.error());
  batch_list wrong;
  wrong.batches.push_back({at::ones({2, 5}), at::zeros({2}, at::kLong)});
  const auto failed = (*engine)->eval_batch(wrong);
  ASSERT_FALSE(failed);
  EXPECT_THAT(to_string(failed.error()), HasSubstr("stage 0, layer 1 (Linear)"));
  const batch_list given = batches(2);
  const auto output = (*engine)->eval_batch(given, {.return_logits = true, .num_micro_batches = 2});
  ASSERT_TRUE(output) << to_string(output.error());
  expect_bits_of(output->logits, given, mlp_alone);
}

}  // namespace
}  // namespace troupe::testing
