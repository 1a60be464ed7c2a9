// Goal: the probe tells shapes or names the layer that refuses, profiles have a positive time per layer, summaries
// carry both. Method: real models with right and wrong samples; shapes are calculated by hand.
#include "runtime/model/probe.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/expected_input.hpp"
#include "runtime/model/graph_values.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/move_module.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

void expect_rejection(const model& of, const at::Tensor& sample, const std::vector<std::string>& words) {
  const auto shapes = probe_layers(*layers_of(of), {sample});
  ASSERT_FALSE(shapes);
  EXPECT_EQ(shapes.error().code, error_code::model_rejects_sample);
  EXPECT_EQ(status_of(shapes.error().code), exit_status::bad_input);
  for (const std::string& word : words) EXPECT_THAT(to_string(shapes.error()), HasSubstr(word));
}

TEST(probe, tells_what_crosses_the_front_of_every_layer) {
  const auto shapes = probe_layers(*layers_of(*load_model(lenet_file())), {at::rand({1, 1, 28, 28})});
  ASSERT_TRUE(shapes) << to_string(shapes.error());
  ASSERT_EQ(shapes->size(), 16u);
  const auto shape = [&](std::size_t place) { return *shapes->at(place).front().shape; };
  EXPECT_THAT(shape(0), ElementsAre(1, 1, 28, 28));
  EXPECT_THAT(shape(1), ElementsAre(1, 1, 32, 32));
  EXPECT_THAT(shape(3), ElementsAre(1, 6, 28, 28));
  EXPECT_EQ(bytes_of(shapes->at(3)), 4u * 6u * 28u * 28u);
  EXPECT_THAT(shape(11), ElementsAre(1, 120));
  EXPECT_THAT(shape(15), ElementsAre(1, 10));
  for (const passing_values& each : *shapes) EXPECT_EQ(each.size(), 1u);
}

TEST(probe, what_all_samples_share_does_not_grow_with_them) {
  const auto first = scripted("First", "def forward(self, x):\n  return x + 1, torch.ones([4, 4])\n");
  const auto second = scripted("Second", "def forward(self, x, mask):\n  return torch.matmul(x, mask)\n");
  const auto net = container("Net", {{"first", first}, {"second", second}},
                             "def forward(self, x):\n  y, mask = self.first.forward(x)\n"
                             "  return self.second.forward(y, mask)\n");
  const layered_graph_ptr graph = layers_of(*make_model(net, "memory"));
  const at::Tensor rows = at::rand({2, 4});
  const auto found = probe_layers(*graph, {rows.narrow(0, 0, 1)}, {}, {rows});
  ASSERT_TRUE(found) << to_string(found.error());
  ASSERT_EQ(found->at(1).size(), 2U);
  EXPECT_EQ(bytes_of(found->at(1)), 4U * 4 + 4U * 16);
  EXPECT_EQ(bytes_of(found->at(1), 9), 10U * 4 * 4 + 4U * 16);
  EXPECT_EQ(bytes_of(found->back(), 9), 10U * 4 * 4);
}

TEST(probe, a_layer_that_refuses_is_named_with_both_shapes) {
  const auto lenet = load_model(lenet_file());
  const auto resnet = load_model(resnet_file());
  expect_rejection(*lenet, at::rand({1, 3, 32, 32}),
                   {"lenet.pt, layer 2 (2 Conv2d)", "found an input of shape [1, 3, 32, 32]", "expected [N, 1, H, W]"});
  expect_rejection(*lenet, at::rand({1, 784}), {"layer 0 (0 Resize)", "found an input of shape [1, 784]"});
  expect_rejection(*resnet, at::rand({1, 4, 32, 32}), {"resnet20.pt, layer 0 (0 Normalize)", "[1, 4, 32, 32]"});
  expect_rejection(*resnet, at::ones({1, 3, 32, 32}).to(at::kLong).narrow(2, 0, 1).expand({1, 3, 0, 32}), {"layer"});
}

TEST(probe, an_input_of_another_floating_type_is_told_how_to_cast) {
  const auto lenet = load_model(lenet_file());
  expect_rejection(
      *lenet, at::rand({1, 1, 28, 28}, at::kDouble),
      {"of Double", "fix: cast the inputs to float32, the type of the weights", "npy:INPUTS,LABELS,float32"});
  EXPECT_THAT(probe_layers(*layers_of(*lenet), {at::rand({1, 784})}).error().fix,
              HasSubstr("the data that the model was made for"));
}

std::string fix_of(const std::function<void()>& operation, const forward_facts& facts = {}) {
  try {
    operation();
  } catch (const std::exception& caught) {
    return libtorch_fix(caught, "otherwise", facts);
  }
  return "nothing was thrown";
}

TEST(libtorch_fix, tells_to_cast_where_two_floating_types_meet_only) {
  const at::Tensor images = at::rand({1, 1, 4, 4}, at::kDouble);
  const at::Tensor rows = at::rand({2, 4}, at::kDouble);
  const auto is_cast = HasSubstr("npy:INPUTS,LABELS,DTYPE, or cast_inputs()");
  EXPECT_THAT(fix_of([&] { at::linear(rows, at::rand({3, 4})); }), is_cast);
  EXPECT_THAT(fix_of([&] { at::linear(rows.to(at::kHalf), at::rand({3, 4}), at::rand({3})); }), is_cast);
  EXPECT_THAT(fix_of([&] { at::conv2d(images, at::rand({1, 1, 2, 2})); }), is_cast);
  EXPECT_THAT(fix_of(
                  [&] {
                    at::linear(rows, at::rand({3, 4}));
                  },
                  {.input = rows}),
              HasSubstr("cast the inputs to float32"));
  EXPECT_THAT(fix_of([&] { at::linear(rows.to(at::kLong), at::rand({3, 4})); }), "otherwise");
  EXPECT_THAT(fix_of([&] { at::linear(at::rand({2, 5}), at::rand({3, 4})); }), "otherwise");
}

/// The fix, and that an input as it says is taken.
TEST(probe, the_type_to_cast_to_is_that_of_the_weights) {
  for (const auto& [type, name] :
       {std::pair{at::kHalf, "float16"}, {at::kBFloat16, "bfloat16"}, {at::kDouble, "float64"}}) {
    auto typed = linear("Linear", 4, 3);
    typed.to(type);
    const auto chain = make_model(typed, "memory");
    const at::Tensor sample = at::rand({1, 4});
    expect_rejection(*chain, sample,
                     {std::string("cast the inputs to ") + name, std::string("npy:INPUTS,LABELS,") + name});
    EXPECT_TRUE(probe_layers(*layers_of(*chain), {sample.to(type)})) << name;
  }
}

TEST(probe, a_layer_whose_own_code_mixes_types_is_told_from_wrong_data) {
  // as torch.jit.trace keeps the type of an LSTM's first state
  torch::jit::Module traced("LSTM");
  traced.register_parameter("weight", at::randn({3, 4}, at::kHalf), false);
  traced.define("def forward(self, x):\n  return torch.linear(torch.zeros([1, 4], dtype=6), self.weight)\n");
  expect_rejection(*make_model(traced, "memory"), at::rand({1, 4}, at::kHalf), {"fix: leave --dtype out"});
  const auto widens = scripted("Widen", "def forward(self, x):\n  return x.to(6)\n");
  auto half = linear("Linear", 4, 3);
  half.to(at::kHalf);
  expect_rejection(*make_model(sequential("Net", {{"a", widens}, {"b", half}}), "memory"), at::rand({1, 4}, at::kHalf),
                   {"layer 1 (b Linear)", "fix: let the layer before give float16"});
}

TEST(probe, a_model_that_goes_to_a_gpu_by_itself_is_told_to_be_exported_on_the_cpu) {
  const auto gpu = scripted("Gpu", "def forward(self, x):\n  return x + torch.zeros([4], device=\"cuda\")\n");
  expect_rejection(*make_model(gpu, "memory"), at::rand({1, 4}), {"fix: export the model on the CPU", "model.cpu()"});
}

TEST(probe, quantized_tensors_pass_between_layers_and_not_out_of_the_model) {
  const auto quantize =
      scripted("Quantize", "def forward(self, x):\n  return torch.quantize_per_tensor(x, 0.1, 10, 13)\n");
  const auto relu = scripted("ReLU", "def forward(self, x):\n  return torch.relu_(x)\n");
  const auto dequantize = scripted("DeQuantize", "def forward(self, x):\n  return torch.dequantize(x)\n");
  const at::Tensor sample = at::randn({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto good = sequential("Net", {{"q", quantize}, {"r", relu}, {"d", dequantize}});
  ASSERT_TRUE(probe_layers(*layers_of(*make_model(good, "memory")), {sample}));
  const at::Tensor wanted = at::quantize_per_tensor(sample, 0.1, 10, at::kQUInt8).relu().dequantize();
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::graph}) {
    const auto output = run_cut(*make_model(good, "memory"), {1, 2}, mode, sample);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_TRUE(same_bits(*output, wanted));
  }
  expect_rejection(*make_model(sequential("Net", {{"q", quantize}, {"r", relu}}), "memory"), sample,
                   {"layer 1 (r ReLU)", "gives a quantized tensor", "DeQuantStub"});
  expect_rejection(*make_model(sequential("Net", {{"q", quantize}, {"l", linear("Linear", 4, 2)}}), "memory"), sample,
                   {"layer 1 (l Linear)", "QuantStub"});
  const auto channels = scripted("PerChannel",
                                 "def forward(self, x):\n  return torch.quantize_per_channel(x, torch.ones([3]), "
                                 "torch.zeros([3], dtype=4), 1, 13)\n");
  expect_rejection(*make_model(sequential("Net", {{"q", channels}, {"d", dequantize}}), "memory"), sample,
                   {"layer 0 (q PerChannel)", "more than one scale"});
}

TEST(faithful_copy, of_quantized_tensors_keeps_scale_and_strides) {
  const at::Tensor image =
      at::quantize_per_tensor(at::randn({2, 3, 4, 4}), 0.1, 10, at::kQUInt8).contiguous(at::MemoryFormat::ChannelsLast);
  for (const at::Tensor& given : {image, image.narrow(0, 1, 1)}) {
    const at::Tensor copy = faithful_copy(given);
    EXPECT_NE(copy.const_data_ptr(), given.const_data_ptr());
    EXPECT_EQ(copy.strides(), given.strides());
    EXPECT_EQ(copy.q_scale(), 0.1);
    EXPECT_TRUE(at::equal(copy.int_repr(), given.int_repr()));
  }
}

TEST(cast_to, leaves_indices_as_they_are) {
  torch::jit::Module module("Picks");
  module.register_parameter("weight", at::randn({5000}), false);
  module.register_buffer("picked", at::tensor({3001, 1, 4999}));
  module.define("def forward(self, x):\n  return x * self.weight[self.picked]\n");
  torch::jit::Module half = cast_to(module, at::kHalf);
  const at::Tensor input = at::randn({2, 3}, at::kHalf);
  const at::Tensor weight = module.attr("weight").toTensor();
  const at::Tensor wanted = input * weight.to(at::kHalf).index_select(0, module.attr("picked").toTensor());
  EXPECT_TRUE(at::equal(half.forward({input}).toTensor(), wanted));
  EXPECT_EQ(weight.scalar_type(), at::kFloat) << "the module itself stays";
}

TEST(probe, expected_shapes_come_from_parameters) {
  const auto resnet = layers_of(*load_model(resnet_file()));
  EXPECT_THAT(expected_input(*resnet, 1), Optional(std::string("[N, 3, H, W]")));
  EXPECT_THAT(expected_input(*resnet, 2), Optional(std::string("[N, 16, ...]")));
  EXPECT_THAT(expected_input(*resnet, 8), Optional(std::string("[N, 32, H, W]")));
  EXPECT_THAT(expected_input(*resnet, 14), Optional(std::string("[N, ..., 64]")));
  EXPECT_EQ(expected_input(*resnet, 3), std::nullopt);
  torch::jit::Module grouped("Conv1d");
  grouped.register_parameter("weight", at::randn({8, 2, 3}), false);
  grouped.define("def forward(self, x):\n  return torch.conv1d(x, self.weight, None, [1], [0], [1], 4)\n");
  EXPECT_THAT(expected_input(*layers_of(*make_model(grouped, "memory")), 0), Optional(std::string("[N, 8, L]")));
}

std::string refusal_of_sizes(const std::vector<graph_input>& arguments, const at::Tensor& data) {
  const auto inputs = inputs_by_name(arguments, std::make_shared<const tensor_set>(std::vector{data}), "model");
  return inputs ? "taken" : to_string(inputs.error());
}

TEST(inputs_by_name, an_export_for_one_number_of_samples_is_told_to_be_made_dynamic) {
  const auto fixed = load_model(source_dir() / "tests/runtime/exported/recorded/fixed.pt2");
  ASSERT_TRUE(fixed) << to_string(fixed.error());
  EXPECT_THAT(refusal_of_sizes(layers_of(*fixed)->model().inputs, at::rand({3, 4})),
              AllOf(HasSubstr("E0209: model: it was exported for 3 samples alone"), HasSubstr("torch.export.Dim")));
}

TEST(inputs_by_name, sizes_that_the_model_was_not_exported_for_are_refused) {
  const std::vector<graph_input> arguments{{.name = "x", .sizes = {{{.max = 32}, {.min = 5, .max = 5}, {.min = 4}}}}};
  EXPECT_EQ(refusal_of_sizes(arguments, at::rand({32, 5, 4})), "taken");
  EXPECT_THAT(refusal_of_sizes(arguments, at::rand({33, 5, 4})),
              AllOf(HasSubstr("\"x\" has the size 33 in dimension 0, and the model was exported for at most 32"),
                    HasSubstr("--micro-batch")));
  EXPECT_THAT(refusal_of_sizes(arguments, at::rand({1, 6, 4})),
              HasSubstr("size 6 in dimension 1, and the model was exported for 5 alone"));
  EXPECT_THAT(refusal_of_sizes(arguments, at::rand({1, 5, 3})), HasSubstr("for at least 4"));
  EXPECT_THAT(refusal_of_sizes(arguments, at::rand({1, 5})),
              HasSubstr("has 2 dimensions, and the model was exported for 3"));
}

TEST(probe, a_linear_layer_after_a_missing_flatten_is_named) {
  const auto chain = make_model(sequential("Net", {{"fc", linear("Linear", 784, 10)}}), "memory");
  expect_rejection(*chain, at::rand({1, 1, 28, 28}),
                   {"memory, layer 0 (fc Linear)", "found an input of shape [1, 1, 28, 28]", "expected [N, ..., 784]"});
}

TEST(probe, the_number_of_samples_must_come_out) {
  const auto flat = scripted("Flat", "def forward(self, x):\n  return torch.flatten(x)\n");
  expect_rejection(*make_model(flat, "memory"), at::rand({1, 4}),
                   {"dimension 0 must stay the number of samples", "[4]"});
  const auto fixed = scripted("View", "def forward(self, x):\n  return x.view([64, 16])\n");
  expect_rejection(*make_model(fixed, "memory"), at::rand({1, 4, 4}), {"layer 0 (model View)", "batch size"});
}

TEST(probe, a_sparse_output_is_refused_by_name) {
  const auto sparse = scripted("Sparse", "def forward(self, x):\n  return x.to_sparse()\n");
  const auto next = scripted("Dense", "def forward(self, x):\n  return x.to_dense()\n");
  expect_rejection(*make_model(sequential("Net", {{"a", sparse}, {"b", next}}), "memory"), at::rand({2, 4}),
                   {"memory, layer 0 (a Sparse)", "layout Sparse", "to_dense()"});
  expect_rejection(*make_model(sparse, "memory"), at::rand({2, 4}), {"layout Sparse"});
}

TEST(probe, a_probe_does_not_write_the_sample) {
  const auto writer = scripted("Writer", "def forward(self, x):\n  return x.mul_(2.0)\n");
  const at::Tensor sample = at::ones({1, 4});
  ASSERT_TRUE(probe_layers(*layers_of(*make_model(writer, "memory")), {sample}));
  EXPECT_TRUE(at::equal(sample, at::ones({1, 4})));
}

TEST(profile, every_layer_has_a_time_and_the_heavy_one_the_longest) {
  const auto chain = make_model(sequential("Net", {{"small", linear("Linear", 8, 512)},
                                                   {"heavy", linear("Linear", 512, 512)},
                                                   {"end", linear("Linear", 512, 2)}}),
                                "memory");
  ASSERT_TRUE(chain) << to_string(chain.error());
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::graph}) {
    const auto seconds = profile_layers(*layers_of(*chain, mode), {at::rand({256, 8})}, 1);
    ASSERT_TRUE(seconds) << to_string(seconds.error());
    ASSERT_EQ(seconds->size(), 3u);
    for (const double time : *seconds) EXPECT_GT(time, 0);
    // 64 times the arithmetic of the first: no load of the machine turns that around in a median
    EXPECT_GT(seconds->at(1), seconds->at(0));
    EXPECT_GT(seconds->at(1), seconds->at(2));
  }
}

TEST(profile, a_failing_layer_is_named) {
  const auto seconds = profile_layers(*layers_of(*load_model(lenet_file())), {at::rand({2, 3, 28, 28})}, 1);
  ASSERT_FALSE(seconds);
  EXPECT_THAT(to_string(seconds.error()), HasSubstr("layer 2 (2 Conv2d)"));
}

}  // namespace
}  // namespace troupe::testing
