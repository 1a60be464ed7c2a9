#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "runtime/graph/bind_inputs.hpp"
#include "runtime/model/lower_module.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {

/// A model of recorded/make_models.py, and what eager PyTorch took and gave.
struct recorded_model {
  std::string name;
  operator_graph graph;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  /// For 2 and for 3 samples.
  struct batch {
    std::vector<at::Tensor> in;
    std::vector<at::Tensor> out;
  };
  std::vector<batch> batches;
};

inline recorded_model read_recorded(const std::filesystem::path& file) {
  recorded_model made;
  made.name = file.stem().string();
  torch::jit::Module module = torch::jit::load(file.string(), at::kCPU);
  module.eval();
  auto lowered = lower_module(module, made.name);
  if (!lowered) throw std::runtime_error(to_string(lowered.error()));
  made.graph = std::move(*lowered);
  const torch::jit::Module io = torch::jit::load((file.parent_path() / (made.name + ".io.pt")).string());
  for (const c10::IValue& each : io.attr("inputs").toListRef()) made.inputs.push_back(each.toStringRef());
  for (const c10::IValue& each : io.attr("outputs").toListRef()) made.outputs.push_back(each.toStringRef());
  for (const char* size : {"2", "3"}) {
    recorded_model::batch one;
    const auto tensors = [&](const std::string& prefix, std::vector<at::Tensor>& into) {
      for (std::size_t at = 0; io.hasattr(prefix + std::to_string(at)); ++at)
        into.push_back(io.attr(prefix + std::to_string(at)).toTensor());
    };
    tensors("in" + std::string(size) + "_", one.in);
    tensors("out" + std::string(size) + "_", one.out);
    made.batches.push_back(std::move(one));
  }
  bind_inputs(made.graph, {made.inputs.begin(), made.inputs.end()});
  return made;
}

inline std::vector<std::filesystem::path> recorded_models() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests/runtime/graph/recorded")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".pt") && !name.ends_with(".io.pt")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace troupe::testing
