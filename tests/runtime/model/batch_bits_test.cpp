// Goal: where a model is said to have bits that depend neither on the micro-batch size nor on the threads, they do not;
// and other models name the operator that is the reason. Method: the recorded models and those of the
// repository, rewritten; the rows of batches of 1 to 257 samples against the same rows of one batch of 257, on one and
// on two threads. No row is compared with anything that the same call has computed.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/rewrite/bit_dependence.hpp"
#include "tests/runtime/graph/recorded_model.hpp"
#include "tests/support/sanitized.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t most = 257;

/// Rows like those of `example`, all different.
at::Tensor many_rows(const at::Tensor& example) {
  std::vector<std::int64_t> shape = example.sizes().vec();
  shape.front() = most;
  if (example.is_floating_point()) return at::randn(shape, example.options());
  return at::randint(0, example.max().item<std::int64_t>() + 1, shape, example.options());
}

graph_values rows_of(const graph_values& values, std::int64_t rows) {
  graph_values made;
  for (const at::Tensor& each : values) made.push_back(each.narrow(0, 0, rows).clone());
  return made;
}

struct tried_model {
  std::string name;
  layered_graph_ptr graph;
  graph_values inputs;
};

/// Batches of all sizes up to 16, and then some up to 257.
void expect_the_same_rows(const tried_model& model, int threads_max) {
  const c10::InferenceMode inference;
  const graph_code code(model.graph->part(0, model.graph->layers().size()));
  at::set_num_threads(1);
  const graph_values whole = code.run(model.inputs);
  for (int threads = 1; threads <= threads_max; ++threads) {
    at::set_num_threads(threads);
    for (std::int64_t rows = 1; rows <= most; rows += rows < 16 ? 1 : 30) {
      const graph_values some = code.run(rows_of(model.inputs, rows));
      ASSERT_EQ(some.size(), whole.size());
      for (std::size_t at = 0; at < whole.size(); ++at)
        EXPECT_TRUE(at::equal(some[at], whole[at].narrow(0, 0, rows)))
            << model.name << ", output " << at << ", " << rows << " rows, " << threads << " threads";
    }
  }
  at::set_num_threads(1);
}

layered_graph_ptr rewritten(const operator_graph& graph) {
  const layered_graph plain(graph, layer_unit::modules);
  operator_graph changed = plain.copy();
  rewrite_graph(changed, rewrite_target::cpu);
  return std::make_shared<const layered_graph>(std::move(changed), plain);
}

std::vector<tried_model> all_models() {
  at::manual_seed(11);
  std::vector<tried_model> made;
  for (const auto& [file, shape] : std::vector<std::pair<std::filesystem::path, std::vector<std::int64_t>>>{
           {lenet_file(), {most, 1, 28, 28}}, {resnet_file(), {most, 3, 32, 32}}}) {
    if (sanitized && file == resnet_file()) continue;
    const auto loaded = load_model(file);
    made.push_back({file.filename().string(), layers_of(*loaded, optimize_mode::graph), {at::rand(shape)}});
  }
  const auto wide =
      make_model(scripted("Up",
                          "def forward(self, x):\n  w = torch.sin(torch.arange(131072.0)).reshape([256, 128, 2, 2])\n"
                          "  return torch.conv_transpose2d(x, w, None, [2, 2])\n"),
                 "memory");
  made.push_back(
      {"wide transposed convolution", layers_of(*wide, optimize_mode::graph), {at::rand({most, 256, 4, 4})}});
  for (const auto& file : recorded_models()) {
    const recorded_model one = read_recorded(file);
    if (one.name.find("_state_") != std::string::npos) continue;
    graph_values inputs;
    for (const at::Tensor& each : one.batches.front().in) inputs.push_back(many_rows(each));
    made.push_back({one.name, rewritten(one.graph), std::move(inputs)});
  }
  return made;
}

TEST(batch_bits, are_as_they_are_promised) {
  std::set<std::string> free;
  for (const tried_model& model : all_models()) {
    const std::string found = find_bit_dependence(model.graph->model(), 1, layer_of_step);
    if (found.starts_with("the micro-batch size")) continue;
    free.insert(model.name);
    expect_the_same_rows(model, found == "nothing" ? 2 : 1);
  }
  // by name, so that a list of operators that promises nothing would be seen
  for (const char* name : {"lenet.pt", "resnet20.pt", "resnet_traced", "bert_tuple_traced", "two_inputs_traced"})
    EXPECT_TRUE(free.contains(name) || (sanitized && std::string(name) == "resnet20.pt")) << name;
}

TEST(batch_bits, of_lenet_are_the_same_in_batches_of_all_sizes) {
  at::manual_seed(12);
  const c10::InferenceMode inference;
  at::set_num_threads(1);
  const layered_graph_ptr graph = layers_of(*load_model(lenet_file()), optimize_mode::graph);
  const graph_code code(graph->part(0, graph->layers().size()));
  const at::Tensor images = at::rand({most, 1, 28, 28});
  const at::Tensor whole = code.run({images}).front();
  for (std::int64_t rows = 1; rows <= most; rows += sanitized ? 16 : 1) {
    const at::Tensor some = code.run({images.narrow(0, most - rows, rows).clone()}).front();
    ASSERT_TRUE(at::equal(some, whole.narrow(0, most - rows, rows))) << rows << " rows";
  }
}

TEST(batch_bits, name_the_operator_that_they_depend_on) {
  const auto loaded = load_model(lenet_file());
  EXPECT_THAT(find_bit_dependence(layers_of(*loaded)->model(), 1, layer_of_step),
              HasSubstr("the micro-batch size (aten::_convolution in layer 2 (2 Conv2d))"));
  const auto products = make_model(
      scripted("Products", "def forward(self, x):\n  return torch.bmm(x, torch.transpose(x, 1, 2))\n"), "memory");
  EXPECT_THAT(find_bit_dependence(layers_of(*products, optimize_mode::graph)->model(), 1, layer_of_step),
              HasSubstr("the micro-batch size (aten::bmm in layer 0"));
  const auto soft = make_model(scripted("Soft", "def forward(self, x):\n  return torch.softmax(x, 1)\n"), "memory");
  const auto sum = make_model(scripted("Sum", "def forward(self, x):\n  return torch.sum(x, [1], True)\n"), "memory");
  EXPECT_THAT(find_bit_dependence(layers_of(*sum, optimize_mode::graph)->model(), 1, layer_of_step),
              HasSubstr("the number of threads (aten::sum"));
  const layered_graph_ptr graph = layers_of(*soft, optimize_mode::graph);
  EXPECT_THAT(find_bit_dependence(graph->model(), 1, layer_of_step), HasSubstr("the number of threads (aten::softmax"));
  EXPECT_THAT(find_bit_dependence(graph->model(), 2, layer_of_step),
              HasSubstr("the micro-batch size and the number of threads (aten::softmax"));
}

}  // namespace
}  // namespace troupe::testing
