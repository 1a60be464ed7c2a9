#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/jit/api/module.h>

#include "../../support/paths.hpp"
#include "messages/try.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/graph_body.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include <troupe/model.hpp>

namespace troupe::testing {

/// A TorchScript module with the given methods, as torch.jit.script would make it.
inline torch::jit::Module scripted(const std::string& type, const std::string& source) {
  torch::jit::Module module(type);
  module.define(source);
  return module;
}

inline torch::jit::Module linear(const std::string& type, std::int64_t in, std::int64_t out) {
  torch::jit::Module module(type);
  module.register_parameter("weight", at::randn({out, in}) / 8, false);
  module.register_parameter("bias", at::randn({out}), false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

using children = std::vector<std::pair<std::string, torch::jit::Module>>;

/// A container with a forward of its own.
inline torch::jit::Module container(const std::string& type, const children& parts, const std::string& source) {
  torch::jit::Module module(type);
  for (const auto& [name, part] : parts) module.register_module(name, part);
  module.define(source);
  return module;
}

/// What torch.jit.script makes of an nn.Sequential.
inline torch::jit::Module sequential(const std::string& type, const children& parts) {
  std::string source = "def forward(self, x):\n";
  for (const auto& [name, part] : parts) source += "  x = self." + name + ".forward(x)\n";
  return container(type, parts, source + "  return x\n");
}

/// A directory of this test program that is gone at the end.
class scratch_dir {
 public:
  scratch_dir() {
    std::string name = (std::filesystem::temp_directory_path() / "test-model-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  scratch_dir(const scratch_dir&) = delete;
  scratch_dir& operator=(const scratch_dir&) = delete;
  ~scratch_dir() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The module after a way through a file, as a user's model arrives.
inline expected<model> saved_and_loaded(const torch::jit::Module& module) {
  const scratch_dir dir;
  const auto file = dir.path() / "model.pt";
  module.save(file.string());
  return load_model(file);
}

inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const at::Tensor x = a.contiguous();
  const at::Tensor y = b.contiguous();
  return std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0;
}

inline activation micro_batch(at::Tensor tensor) {
  activation input;
  input.tensors = make_tensors(std::move(tensor));
  return input;
}

/// The model with its layers, rewritten or as it stands.
inline layered_graph_ptr layers_of(const model& of, optimize_mode mode = optimize_mode::none) {
  operator_graph graph = of.graph();
  graph.graph = of.graph().graph->copy();
  bind_inputs(graph, {});
  const auto plain = std::make_shared<const layered_graph>(std::move(graph), layer_unit::modules);
  if (mode == optimize_mode::none) return plain;
  operator_graph rewritten = plain->copy();
  rewrite_graph(rewritten, rewrite_target::cpu);
  return std::make_shared<const layered_graph>(std::move(rewritten), *plain);
}

/// The layers [begin, end) of a model with one input as stage number `stage`.
inline graph_body body_of(const layered_graph& graph, std::size_t begin, std::size_t end, stage_index stage = 0,
                          std::uint32_t threads = 1) {
  graph_body_options options{.stage = stage, .threads = threads};
  if (begin == 0) options.arguments = graph.model().inputs;
  if (end == graph.layers().size()) options.outputs = graph.model().outputs;
  return {graph.part(begin, end), std::move(options)};
}

/// The model cut at `cuts` (ascending, without 0 and the end), run stage by stage.
inline expected<at::Tensor> run_cut(const layered_graph& graph, const std::vector<std::size_t>& cuts,
                                    const at::Tensor& input, std::uint32_t threads = 1) {
  std::vector<std::size_t> bounds = cuts;
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(graph.layers().size());
  activation values = micro_batch(input);
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    graph_body body = body_of(graph, bounds[i], bounds[i + 1], static_cast<stage_index>(i), threads);
    body.on_start();
    values.tensors = TROUPE_TRY(body.forward(values));
  }
  return as_tensors(values.tensors).single();
}
inline expected<at::Tensor> run_cut(const model& of, const std::vector<std::size_t>& cuts, optimize_mode mode,
                                    const at::Tensor& input, std::uint32_t threads = 1) {
  return run_cut(*layers_of(of, mode), cuts, input, threads);
}

inline std::filesystem::path lenet_file() {
  return data_dir() / "mnist" / "lenet.pt";
}
inline std::filesystem::path resnet_file() {
  return data_dir() / "cifar10" / "resnet20.pt";
}

}  // namespace troupe::testing
