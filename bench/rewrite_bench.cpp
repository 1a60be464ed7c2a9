// One TorchScript model on one thread in four forms: its graph as it stands, rewritten, and as LibTorch's freezing and
// optimize_for_inference change it. rewrite_table.py has them take turns with each other and with ONNX Runtime.
//   rewrite_bench MODEL TENSORS
// TENSORS is a list that torch.save wrote: the inputs, and last the output of eager PyTorch. For each form a line of
// stdout has its name and, behind a tab, the largest difference of its output by the largest magnitude; then comes an
// empty line. Each line "FORM CALLS" of stdin is answered with the milliseconds per call that the thread computed,
// after one call that is not counted.
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <c10/core/InferenceMode.h>
#include <fmt/core.h>
#include <time.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include "runtime/model/lower_module.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include <troupe/error.hpp>

namespace troupe::bench {
namespace {

using values = std::vector<c10::IValue>;

struct form {
  std::string name;
  std::function<at::Tensor()> run;
};

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

values tensors_in(const char* file) {
  std::ifstream stream(file, std::ios::binary);
  return torch::jit::pickle_load({std::istreambuf_iterator<char>(stream), {}}).toListRef().vec();
}

form of_graph(const std::string& name, const operator_graph& model, const values& inputs) {
  const auto code = std::make_shared<torch::jit::Code>(model.graph, name);
  return {name, [code, inputs] {
            torch::jit::Stack stack = inputs;
            torch::jit::InterpreterState(*code).run(stack);
            return stack.at(0).toTensor();
          }};
}

form of_module(const std::string& name, torch::jit::Module module, const values& inputs) {
  return {name, [module, inputs]() mutable { return module.forward(inputs).toTensor(); }};
}

std::vector<form> forms_of(const std::string& file, const values& inputs) {
  torch::jit::Module module = torch::jit::load(file);
  module.eval();
  const operator_graph plain = get(lower_module(module, file));
  operator_graph rewritten = plain;
  rewritten.graph = plain.graph->copy();
  const rewrite_report report = rewrite_graph(rewritten, rewrite_target::cpu);
  fmt::print(stderr,
             "{}: {} convolutions packed ({} add in place), {} linear layers packed, {} relus joined, "
             "{} normalisations and {} constants folded\n",
             file, report.packed_convolutions, report.additions_in_place, report.packed_linears, report.joined_relus,
             report.folded_normalisations, report.folded_constants_per_channel);
  torch::jit::Module frozen = torch::jit::freeze(module);
  torch::jit::Module copied = frozen.copy();
  return {of_graph("plain", plain, inputs), of_graph("rewritten", rewritten, inputs),
          of_module("freeze", frozen, inputs),
          of_module("freeze, optimize_for_inference", torch::jit::optimize_for_inference(copied), inputs)};
}

double ms_per_call(const form& one, std::int64_t calls) {
  one.run();
  const double start = cpu_ms();
  for (std::int64_t i = 0; i < calls; ++i) one.run();
  return (cpu_ms() - start) / static_cast<double>(calls);
}

void serve(const char* model, const char* tensors) {
  values inputs = tensors_in(tensors);
  const at::Tensor wanted = inputs.back().toTensor();
  inputs.pop_back();
  const std::vector<form> forms = forms_of(model, inputs);
  for (const form& one : forms) {
    ms_per_call(one, 2);
    const double apart = ((one.run() - wanted).abs().max() / wanted.abs().max()).item<double>();
    std::cout << fmt::format("{}\t{:.1e}\n", one.name, apart);
  }
  std::cout << std::endl;
  std::size_t number = 0;
  std::int64_t calls = 0;
  while (std::cin >> number >> calls) std::cout << ms_per_call(forms.at(number), calls) << std::endl;
}

}  // namespace
}  // namespace troupe::bench

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: rewrite_bench MODEL TENSORS\n";
    return 2;
  }
  troupe::keep_freed_memory();
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  troupe::bench::serve(words[1], words[2]);
  return 0;
}
