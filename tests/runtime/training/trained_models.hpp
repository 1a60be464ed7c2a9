#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/functional/activation.h>
#include <torch/nn/functional/pooling.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pooling.h>

#include "tests/support/formula_tensors.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe::testing {

/// The models of recorded/record.py, with its weights.

template <class Module>
void fill_by_formula(Module& module, const std::string& prefix) {
  const torch::NoGradGuard no_grad;
  for (const auto& each : module->named_parameters())
    at::Tensor(each.value()).copy_(formula_weight(prefix + each.key(), each.value().sizes()));
  for (const auto& each : module->named_buffers()) {
    if (each.value().is_floating_point())
      at::Tensor(each.value()).copy_(formula_weight(prefix + each.key(), each.value().sizes()));
  }
}

class layer_list {
 public:
  template <class Make>
  void add(const std::string& type, Make make) {
    const std::string prefix = std::to_string(specs_.size()) + ".";
    specs_.emplace_back(type, [make, prefix] {
      auto made = make();
      fill_by_formula(made, prefix);
      return made;
    });
  }
  void add_function(const std::string& type, std::function<at::Tensor(const at::Tensor&)> forward) {
    specs_.push_back(layer_spec::function(type, std::move(forward)));
  }
  void add_spec(layer_spec spec) { specs_.push_back(std::move(spec)); }
  std::vector<layer_spec> take() { return std::move(specs_); }
  [[nodiscard]] std::size_t size() const { return specs_.size(); }

 private:
  std::vector<layer_spec> specs_;
};

inline at::Tensor relu_in_place(const at::Tensor& x) {
  at::Tensor mine = x;
  return mine.relu_();
}

inline std::vector<layer_spec> mlp_layers() {
  layer_list made;
  made.add_function("ReLU", relu_in_place);
  made.add("Linear", [] { return torch::nn::Linear(12, 16); });
  made.add_function("ReLU", relu_in_place);
  made.add("Linear", [] { return torch::nn::Linear(16, 16); });
  made.add_function("ReLU", relu_in_place);
  made.add("Linear", [] { return torch::nn::Linear(16, 5); });
  return made.take();
}

inline std::vector<layer_spec> lenet_layers() {
  layer_list made;
  made.add("Conv2d", [] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 6, 5).padding(2)); });
  made.add_function("ReLU", relu_in_place);
  made.add("MaxPool2d", [] { return torch::nn::MaxPool2d(2); });
  made.add("Conv2d", [] { return torch::nn::Conv2d(6, 16, 5); });
  made.add_function("ReLU", relu_in_place);
  made.add("MaxPool2d", [] { return torch::nn::MaxPool2d(2); });
  made.add_function("Flatten", [](const at::Tensor& x) { return x.flatten(1); });
  made.add("Linear", [] { return torch::nn::Linear(400, 120); });
  made.add_function("ReLU", relu_in_place);
  made.add("Linear", [] { return torch::nn::Linear(120, 84); });
  made.add_function("ReLU", relu_in_place);
  made.add("Linear", [] { return torch::nn::Linear(84, 10); });
  return made.take();
}

inline torch::nn::Conv2d conv3(std::int64_t in, std::int64_t out, std::int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false));
}

/// ResNet-20's block, with the shortcut without weights of the paper.
struct basic_block_impl : torch::nn::Module {
  basic_block_impl(std::int64_t in, std::int64_t out, std::int64_t stride_between)
      : conv1(conv3(in, out, stride_between)), bn1(out), conv2(conv3(out, out, 1)), bn2(out), stride(stride_between) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
  }
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor shortcut = x;
    if (stride != 1) {
      const std::int64_t pad = conv1->options.out_channels() / 4;
      shortcut =
          at::constant_pad_nd(x.slice(2, 0, std::nullopt, 2).slice(3, 0, std::nullopt, 2), {0, 0, 0, 0, pad, pad});
    }
    const at::Tensor inner = bn2->forward(conv2->forward(torch::relu(bn1->forward(conv1->forward(x)))));
    return torch::relu(inner + shortcut);
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  std::int64_t stride;
};
TORCH_MODULE_IMPL(basic_block, basic_block_impl);

inline std::vector<layer_spec> resnet20_layers() {
  layer_list made;
  made.add("Conv2d", [] { return conv3(3, 16, 1); });
  made.add("BatchNorm2d", [] { return torch::nn::BatchNorm2d(16); });
  made.add_function("ReLU", relu_in_place);
  for (const auto& [in, out] : {std::pair(16, 16), std::pair(16, 32), std::pair(32, 64)}) {
    for (int block = 0; block < 3; ++block) {
      const bool widens = block == 0 && in != out;
      made.add("BasicBlock",
               [from = widens ? in : out, to = out, widens] { return basic_block(from, to, widens ? 2 : 1); });
    }
  }
  made.add_function("Pool", [](const at::Tensor& x) { return x.mean({2, 3}); });
  made.add("Linear", [] { return torch::nn::Linear(64, 10); });
  return made.take();
}

/// Tokens and positions to vectors.
struct embeddings_impl : torch::nn::Module {
  embeddings_impl(std::int64_t vocabulary, std::int64_t positions, std::int64_t width)
      : tokens(vocabulary, width), places(positions, width) {
    register_module("tokens", tokens);
    register_module("places", places);
  }
  at::Tensor forward(const at::Tensor& ids) {
    return tokens->forward(ids) + places->forward(at::arange(ids.size(1), ids.options()));
  }
  torch::nn::Embedding tokens;
  torch::nn::Embedding places;
};
TORCH_MODULE_IMPL(embeddings, embeddings_impl);

/// A block of GPT.
struct gpt_block_impl : torch::nn::Module {
  gpt_block_impl(std::int64_t width, std::int64_t heads_in_block, double dropout)
      : norm1(torch::nn::LayerNormOptions({width})),
        qkv(torch::nn::LinearOptions(width, 3 * width).bias(false)),
        projection(width, width),
        norm2(torch::nn::LayerNormOptions({width})),
        widen(width, 4 * width),
        narrow(4 * width, width),
        drop(dropout),
        heads(heads_in_block) {
    register_module("norm1", norm1);
    register_module("qkv", qkv);
    register_module("projection", projection);
    register_module("norm2", norm2);
    register_module("widen", widen);
    register_module("narrow", narrow);
    register_module("drop", drop);
  }
  at::Tensor forward(const at::Tensor& x) {
    const std::int64_t n = x.size(0);
    const std::int64_t t = x.size(1);
    const std::int64_t width = x.size(2);
    const at::Tensor all =
        qkv->forward(norm1->forward(x)).view({n, t, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    at::Tensor scores = at::matmul(all[0], all[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(width / heads));
    const at::Tensor later = at::ones({t, t}, at::kBool).triu(1);
    scores = scores.masked_fill(later, -1e9);
    const at::Tensor mixed =
        at::matmul(drop->forward(scores.softmax(-1)), all[2]).transpose(1, 2).reshape({n, t, width});
    const at::Tensor attended = x + drop->forward(projection->forward(mixed));
    return attended + drop->forward(narrow->forward(at::gelu(widen->forward(norm2->forward(attended)))));
  }
  torch::nn::LayerNorm norm1;
  torch::nn::Linear qkv;
  torch::nn::Linear projection;
  torch::nn::LayerNorm norm2;
  torch::nn::Linear widen;
  torch::nn::Linear narrow;
  torch::nn::Dropout drop;
  std::int64_t heads;
};
TORCH_MODULE_IMPL(gpt_block, gpt_block_impl);

inline std::vector<layer_spec> gpt_layers(double dropout = 0, int blocks = 2) {
  layer_list made;
  made.add("Embeddings", [] { return embeddings(17, 8, 16); });
  for (int block = 0; block < blocks; ++block) made.add("Block", [dropout] { return gpt_block(16, 2, dropout); });
  made.add("LayerNorm", [] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})); });
  made.add("Linear", [] { return torch::nn::Linear(torch::nn::LinearOptions(16, 17).bias(false)); });
  return made.take();
}

/// The embeddings are the output projection as well, three layers behind. With weights by formula, or as they are
/// drawn.
inline std::vector<layer_spec> tied_gpt_layers(double dropout = 0, bool by_formula = true) {
  const auto make = [by_formula] {
    auto made = embeddings(17, 8, 16);
    if (by_formula) fill_by_formula(made, "0.");
    return made;
  };
  std::vector<layer_spec> specs = gpt_layers(dropout);
  specs.front() = tied_layer_spec("tokens", "Embeddings", make);
  specs.back() = tied_layer_spec("tokens", "Projection", make, [](embeddings& module, const at::Tensor& x) {
    return at::linear(x, module->tokens->weight);
  });
  return specs;
}

/// Layers 2, 4 and 6 are one.
inline std::vector<layer_spec> tied_mlp_layers() {
  layer_list made;
  made.add("Linear", [] { return torch::nn::Linear(12, 16); });
  for (int use = 0; use < 3; ++use) {
    made.add_function("ReLU", [](const at::Tensor& x) { return torch::relu(x); });
    made.add_spec(tied_layer_spec("shared", "Linear", [] {
      auto linear = torch::nn::Linear(16, 16);
      fill_by_formula(linear, "2.");
      return linear;
    }));
  }
  made.add_function("ReLU", [](const at::Tensor& x) { return torch::relu(x); });
  made.add("Linear", [] { return torch::nn::Linear(16, 5); });
  return made.take();
}

}  // namespace troupe::testing
