// One TorchScript model on one thread: its rewritten graph against the plain one, and against LibTorch's own freezing
// and optimising, as a table in Markdown. rewrite_bench MODEL SIZE,SIZE,... [MODEL SIZES]...
#include <algorithm>
#include <cstdint>
#include <functional>
#include <sstream>
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

#include "machine.hpp"
#include "runtime/model/lower_module.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include <troupe/error.hpp>

namespace troupe::bench {
namespace {

constexpr std::size_t rounds = 21;

struct contestant {
  std::string name;
  std::function<at::Tensor()> run;
  std::vector<double> times_ms = {};
};

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double part(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

std::vector<std::int64_t> read_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::istringstream list(text);
  for (std::string one; std::getline(list, one, ',');) sizes.push_back(std::stoll(one));
  return sizes;
}

contestant of_graph(const std::string& name, const operator_graph& model, const at::Tensor& x) {
  const auto code = std::make_shared<torch::jit::Code>(model.graph, name);
  return {name, [code, x] {
            torch::jit::Stack stack{x};
            torch::jit::InterpreterState(*code).run(stack);
            return stack.at(0).toTensor();
          }};
}

contestant of_module(const std::string& name, torch::jit::Module module, const at::Tensor& x) {
  return {name, [module, x]() mutable { return module.forward({x}).toTensor(); }};
}

void compare(const std::string& file, const at::Tensor& x) {
  torch::jit::Module module = torch::jit::load(file);
  module.eval();
  const operator_graph plain = get(lower_module(module, file));
  operator_graph rewritten = plain;
  rewritten.graph = plain.graph->copy();
  const rewrite_report report = rewrite_graph(rewritten, rewrite_target::cpu);
  torch::jit::Module frozen = torch::jit::freeze(module);
  torch::jit::Module copied = frozen.copy();
  std::vector<contestant> all{
      of_graph("plain", plain, x), of_graph("rewritten", rewritten, x), of_module("freeze", frozen, x),
      of_module("freeze, optimize_for_inference", torch::jit::optimize_for_inference(copied), x)};
  const at::Tensor wanted = all.front().run();
  for (contestant& one : all) {
    for (int warm = 0; warm < 3; ++warm) one.run();
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      contestant& one = all[(round + i) % all.size()];
      const double start = cpu_ms();
      one.run();
      one.times_ms.push_back(cpu_ms() - start);
    }
  }
  for (contestant& one : all) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < rounds; ++i) ratios.push_back(one.times_ms[i] / all.front().times_ms[i]);
    const double apart = ((one.run() - wanted).abs().max() / wanted.abs().max()).item<double>();
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} to {:.2f} | {:.1e} |\n", file.substr(file.rfind('/') + 1),
               one.name, part(one.times_ms, 0), part(one.times_ms, 0.5), part(ratios, 0.5), part(ratios, 0.25),
               part(ratios, 0.75), apart);
  }
  fmt::print(stderr,
             "{}: {} convolutions packed ({} add in place), {} linear layers packed, {} relus joined, "
             "{} normalisations and {} constants folded\n",
             file, report.packed_convolutions, report.additions_in_place, report.packed_linears, report.joined_relus,
             report.folded_normalisations, report.folded_constants_per_channel);
}

}  // namespace
}  // namespace troupe::bench

int main(int count, char** words) {
  using namespace troupe::bench;
  troupe::keep_freed_memory();
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  fmt::print("{}, {}, load {:.1f}\n\n", processor(), compiler(), load_average());
  fmt::print("| model | code | least ms | median ms | ratio | quartiles | apart |\n|---|---|---|---|---|---|---|\n");
  for (int i = 1; i + 1 < count; i += 2) compare(words[i], at::randn(read_sizes(words[i + 1])));
}
