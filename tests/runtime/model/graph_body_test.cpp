// Goal: a model gives the same bits wherever it is cut, whatever its layers do with their input, and errors name the
// layer. Method: compared with the plain module that LibTorch loads, and with the uncut model in the same process.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/tensor/faithful_copy.hpp"
#include "tests/support/sanitized.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr optimize_mode all_modes[] = {optimize_mode::none, optimize_mode::graph};

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
  model model_ = *load_model(GetParam().file);
};

TEST_P(real_model_test, every_cut_gives_the_same_bits) {
  for (const optimize_mode mode : all_modes) {
    const layered_graph_ptr graph = layers_of(model_, mode);
    for (const std::int64_t size : {1, 5}) {
      const at::Tensor input = images(size);
      const auto whole = run_cut(*graph, {}, input);
      ASSERT_TRUE(whole) << to_string(whole.error());
      for (std::size_t cut = 1; cut < graph->layers().size(); ++cut) {
        ASSERT_TRUE(graph->can_begin(cut)) << *graph->objection(cut);
        const auto output = run_cut(*graph, {cut}, input);
        ASSERT_TRUE(output) << to_string(output.error());
        EXPECT_TRUE(same_bits(*output, *whole)) << "cut " << cut;
      }
    }
  }
}

TEST_P(real_model_test, any_number_of_stages_gives_the_same_bits) {
  const at::Tensor input = images(3);
  for (const optimize_mode mode : all_modes) {
    const layered_graph_ptr graph = layers_of(model_, mode);
    const auto whole = run_cut(*graph, {}, input);
    std::vector<std::size_t> cuts;
    for (std::size_t stages = 2; stages <= graph->layers().size(); ++stages) {
      cuts.push_back(stages - 1);
      const auto output = run_cut(*graph, cuts, input);
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
    const auto output = run_cut(model_, {4, 9}, optimize_mode::none, input);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_TRUE(same_bits(*output, wanted));
  }
}

TEST_P(real_model_test, rewritten_results_are_close) {
  const at::Tensor input = images(4);
  const auto plain = run_cut(model_, {}, optimize_mode::none, input);
  const auto output = run_cut(model_, {6}, optimize_mode::graph, input);
  ASSERT_TRUE(plain && output);
  EXPECT_LE((*output - *plain).abs().max().item<double>(), 1e-5 * plain->abs().max().item<double>());
}

TEST_P(real_model_test, repeated_runs_and_changing_sizes_keep_the_bits) {
  for (const optimize_mode mode : all_modes) {
    const layered_graph_ptr graph = layers_of(model_, mode);
    graph_body body = body_of(*graph, 0, graph->layers().size());
    body.on_start();
    std::map<std::int64_t, at::Tensor> first;
    for (const std::int64_t size : {4, 4, 3, 4, 1, 3, 4, 1, 4, 4}) {
      const auto output = body.forward(micro_batch(images(size)));
      ASSERT_TRUE(output) << to_string(output.error());
      const at::Tensor& tensor = as_tensors(*output).single();
      const auto [known, is_new] = first.emplace(size, tensor);
      EXPECT_TRUE(same_bits(tensor, known->second)) << "size " << size;
    }
  }
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
    const auto loaded = saved_and_loaded(variant);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    const at::Tensor pristine = at::arange(24).to(at::kFloat).view({4, 6}) - 11.5;
    torch::jit::Module eager = variant.deepcopy();
    const at::Tensor wanted = eager.forward({pristine.clone()}).toTensor();
    for (const optimize_mode mode : all_modes) {
      const layered_graph_ptr graph = layers_of(*loaded, mode);
      for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, {1}, {2}, {1, 2}}) {
        if (!cuts.empty() && cuts.back() >= graph->layers().size()) continue;
        const at::Tensor input = pristine.clone();
        // twice, as a replayed micro-batch must find everything as it was
        for (int attempt = 0; attempt < 2; ++attempt) {
          const auto output = run_cut(*graph, cuts, input);
          ASSERT_TRUE(output) << to_string(output.error());
          EXPECT_TRUE(same_bits(*output, wanted)) << "mode " << static_cast<int>(mode) << ", cuts " << cuts.size();
          EXPECT_TRUE(same_bits(input, pristine));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(layers, difficult_layer_test, ::testing::ValuesIn(difficult_layers),
                         [](const auto& instance) { return instance.param.name; });

/// They give back their input or one of its views, and their schemas tell of new tensors.
TEST(graph_body, a_write_into_what_was_given_back_unseen_is_not_cut_off) {
  const auto more = scripted("More", "def forward(self, x):\n  return x + 1\n");
  const auto twice = scripted("Twice", "def forward(self, x):\n  return x.mul_(2.0)\n");
  for (const char* given_back :
       {"torch.dropout(x, 0.5, False)", "torch.atleast_2d(x)", "torch.einsum(\"ij->ij\", [x])",
        "torch.broadcast_tensors([x, x])[0]", "torch.unsafe_chunk(x, 1)[0]", "x.to_dense()", "torch.conj_physical(x)",
        "x.type_as(x)", "torch.cartesian_prod([x.view([-1])]).view([4, 6])"}) {
    const auto same = scripted("Same", std::string("def forward(self, x):\n  return ") + given_back + "\n");
    const auto net = container("Net", {{"more", more}, {"same", same}, {"twice", twice}},
                               "def forward(self, x):\n  y = self.more.forward(x)\n"
                               "  return self.twice.forward(self.same.forward(y)) + y\n");
    const at::Tensor input = at::randn({4, 6});
    const at::Tensor wanted = net.deepcopy().forward({input}).toTensor();
    ASSERT_TRUE(at::equal(wanted, (input + 1) * 4)) << given_back;
    const layered_graph_ptr graph = layers_of(*make_model(net, "memory"));
    for (std::size_t cut = 1; cut < graph->layers().size(); ++cut) {
      if (!graph->can_begin(cut)) continue;
      const auto output = run_cut(*graph, {cut}, input);
      ASSERT_TRUE(output) << to_string(output.error());
      EXPECT_TRUE(same_bits(*output, wanted)) << given_back << ", cut " << cut;
    }
  }
}

TEST(graph_body, what_passes_through_is_handed_on_without_a_copy) {
  const auto skip = container("Skip", {{"a", linear("Linear", 6, 6)}, {"b", linear("Linear", 6, 6)}},
                              "def forward(self, x):\n  y = self.a.forward(x)\n  return self.b.forward(y) + x\n");
  const layered_graph_ptr graph = layers_of(*make_model(skip, "memory"));
  ASSERT_EQ(graph->layers().size(), 3U);
  const at::Tensor input = at::randn({2, 6});
  const auto between = body_of(*graph, 0, 1).forward(micro_batch(input));
  ASSERT_TRUE(between) << to_string(between.error());
  const auto& values = as_tensors(*between).tensors();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_TRUE(values[0].is_same(input) || values[1].is_same(input));
}

TEST(graph_body, copies_keep_sizes_strides_values_and_alignment) {
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

TEST(graph_body, failures_name_stage_layer_and_operator) {
  for (const optimize_mode mode : all_modes) {
    const layered_graph_ptr graph = layers_of(*load_model(lenet_file()), mode);
    graph_body body = body_of(*graph, 2, 15, 1);
    activation bad = micro_batch(at::rand({2, 7, 32, 32}));
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto output = body.forward(bad);
      ASSERT_FALSE(output);
      EXPECT_EQ(output.error().code, error_code::forward_failed);
      EXPECT_THAT(output.error().where, HasSubstr("stage 1, layer 2 (2 Conv2d)"));
      const std::string& cause = output.error().cause;
      EXPECT_THAT(cause, HasSubstr("forward failed in "));
      EXPECT_THAT(cause, HasSubstr("7")) << "the channels that it got";
      EXPECT_EQ(cause.find("Exception raised from"), std::string::npos) << cause;
      EXPECT_EQ(cause.find("Traceback"), std::string::npos) << cause;
    }
    EXPECT_TRUE(body.forward(micro_batch(at::rand({2, 1, 32, 32})))) << "the next micro-batch is served";
  }
}

TEST(graph_body, takes_several_inputs_by_their_names_and_names_its_outputs) {
  const auto net = scripted("Net",
                            "def forward(self, ids, mask, scale: Optional[Tensor] = None):\n"
                            "  y = ids * mask\n"
                            "  if scale is not None:\n    y = y * scale\n"
                            "  return {\"sum\": y + 1, \"parts\": (ids, mask)}\n");
  const auto loaded = make_model(net, "memory");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  const layered_graph_ptr graph = layers_of(*loaded);
  graph_body body = body_of(*graph, 0, graph->layers().size());
  const at::Tensor ids = at::randn({3, 2});
  const at::Tensor mask = at::randn({3, 2});
  activation input;
  input.tensors = std::make_shared<const tensor_set>(std::vector{mask, ids}, std::vector<std::string>{"mask", "ids"});
  const auto output = body.forward(input);
  ASSERT_TRUE(output) << to_string(output.error());
  const tensor_set& made = as_tensors(*output);
  ASSERT_EQ(made.tensors().size(), 3U);
  EXPECT_EQ(made.name(0) + " " + made.name(1) + " " + made.name(2), "sum parts.0 parts.1");
  EXPECT_TRUE(at::equal(made.tensors()[0], ids * mask + 1));
  EXPECT_TRUE(at::equal(made.tensors()[2], mask));
  input.tensors = std::make_shared<const tensor_set>(std::vector{mask, ids}, std::vector<std::string>{"mask", "id"});
  const auto refused = body.forward(input);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_rejects_sample);
  EXPECT_THAT(refused.error().cause,
              HasSubstr("takes the inputs \"ids\", \"mask\", and the data have \"mask\", \"id\""));
}

TEST(graph_body, of_a_later_part_takes_what_the_part_before_gives) {
  const layered_graph_ptr graph = layers_of(*load_model(lenet_file()));
  activation input;
  input.tensors = std::make_shared<const tensor_set>(std::vector{at::ones({1}), at::ones({1})});
  const auto output = body_of(*graph, 3, 15).forward(input);
  ASSERT_FALSE(output);
  EXPECT_THAT(output.error().cause, HasSubstr("takes 1 tensors, and it got 2"));
}

}  // namespace
}  // namespace troupe::testing
