// Runs the graph of one exported model of make_zoo.py in parts, without the runtime around it, plain and rewritten, and
// compares with eager PyTorch: as a whole, layer by layer, cut at up to 12 places between operators, and sample by
// sample. One JSON object on stdout:
//   zoo_cuts MODEL DATA
#include <algorithm>
#include <cmath>
#include <iostream>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <nlohmann/json.hpp>
#include <torch/script.h>

#include "runtime/exported/read_exported.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/graph_part.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/lower_module.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include "runtime/tensor/faithful_copy.hpp"

namespace {

using tensors = std::vector<at::Tensor>;
constexpr std::size_t most_cuts = 12;

tensors tensors_in(const torch::jit::Module& record, const std::string& prefix) {
  tensors found;
  for (std::size_t i = 0; record.hasattr(prefix + std::to_string(i)); ++i) {
    found.push_back(record.attr(prefix + std::to_string(i)).toTensor());
  }
  return found;
}

std::vector<std::string> names_in(const torch::jit::Module& record, const char* attribute) {
  std::vector<std::string> names;
  for (const c10::IValue& each : record.attr(attribute).toListRef()) names.push_back(each.toStringRef());
  return names;
}

tensors copies(const tensors& of) {
  tensors made;
  for (const at::Tensor& each : of) made.push_back(troupe::faithful_copy(each));
  return made;
}

tensors row_of(const tensors& of, std::int64_t row) {
  tensors made;
  for (const at::Tensor& each : of) made.push_back(each.narrow(0, row, 1).clone());
  return made;
}

/// 0: equal bits. Infinity: other shapes or types.
double difference(const tensors& found, const tensors& wanted) {
  double most = found.size() == wanted.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < found.size() && most < INFINITY; ++i) {
    if (found[i].sizes() != wanted[i].sizes() || found[i].dtype() != wanted[i].dtype()) return INFINITY;
    if (found[i].equal(wanted[i])) continue;
    const at::Tensor magnitude = wanted[i].to(at::kDouble).abs().max();
    const at::Tensor apart = (found[i].to(at::kDouble) - wanted[i].to(at::kDouble)).abs().max() / magnitude;
    const double here = apart.item<double>();
    most = std::isnan(here) ? INFINITY : std::max(most, here);
  }
  return most;
}

/// Each layer by itself, but for those in front of which no stage can begin.
tensors run_layers(const troupe::layered_graph& graph, tensors values) {
  for (std::size_t begin = 0; begin < graph.layers().size();) {
    std::size_t end = begin + 1;
    while (end < graph.layers().size() && !graph.can_begin(end)) ++end;
    values = troupe::graph_code(graph.part(begin, end)).run(copies(values));
    begin = end;
  }
  return values;
}

/// Places where the graph is cut into two parts, and how many of them change bits.
nlohmann::json cuts_of(const troupe::layered_graph& graph, const tensors& in) {
  const std::size_t steps = graph.live().steps();
  const std::size_t stride = std::max<std::size_t>(1, steps / most_cuts);
  std::size_t tried = 0;
  std::size_t wrong = 0;
  const auto run = [&](std::size_t begin, std::size_t end, const tensors& values) {
    return troupe::graph_code(troupe::make_part(graph.model(), graph.live(), begin, end)).run(copies(values));
  };
  const tensors out = run(0, steps, in);
  for (std::size_t place = 1 + stride / 2; place < steps; place += stride) {
    if (graph.live().objection(place)) continue;
    ++tried;
    if (difference(run(place, steps, run(0, place, in)), out) != 0) ++wrong;
  }
  return {{"tried", tried}, {"wrong", wrong}};
}

/// How far the graph is from eager PyTorch, whether its layers one by one give the bits of the whole, and whether each
/// sample alone gives the bits that it has in the batch.
nlohmann::json compared(const troupe::layered_graph& graph, const tensors& in, const tensors& out) {
  const troupe::graph_code code(graph.part(0, graph.layers().size()));
  const tensors whole = code.run(copies(in));
  bool is_alone_equal = true;
  for (std::int64_t row = 0; row < in.front().size(0); ++row) {
    is_alone_equal = is_alone_equal && difference(code.run(row_of(in, row)), row_of(whole, row)) == 0;
  }
  return {{"eager", difference(whole, out)},
          {"layers", difference(run_layers(graph, in), whole) == 0},
          {"alone", is_alone_equal}};
}

nlohmann::json json_of(const troupe::rewrite_report& made) {
  return {{"constants", made.folded_constants},       {"normalisations", made.folded_normalisations},
          {"convolutions", made.packed_convolutions}, {"additions", made.additions_in_place},
          {"linears", made.packed_linears},           {"relus", made.joined_relus}};
}

troupe::expected<troupe::operator_graph> read(const std::string& model) {
  if (model.ends_with(".pt2")) return troupe::open_archive(model).and_then(troupe::read_exported);
  torch::jit::Module module = torch::jit::load(model, at::kCPU);
  module.eval();
  return troupe::lower_module(module, model);
}

void compare(const std::string& model, const char* data, nlohmann::json& line) {
  auto lowered = read(model);
  if (!lowered) throw std::runtime_error(to_string(lowered.error()));
  const torch::jit::Module record = torch::jit::load(data);
  const std::vector<std::string> inputs = names_in(record, "inputs");
  troupe::bind_inputs(*lowered, {inputs.begin(), inputs.end()});
  line["outputs"] = lowered->outputs == names_in(record, "outputs");
  const troupe::layered_graph plain(std::move(*lowered), troupe::layer_unit::modules);
  line["layers"] = plain.layers().size();
  line["steps"] = plain.live().steps();
  std::size_t places = 0;
  for (std::size_t place = 1; place < plain.live().steps(); ++place) places += plain.live().objection(place) ? 0 : 1;
  line["places"] = places;
  troupe::operator_graph changed = plain.copy();
  const troupe::rewrite_report made = troupe::rewrite_graph(changed, troupe::rewrite_target::cpu);
  const troupe::layered_graph rewritten(std::move(changed), plain);
  for (const std::string batch : {"2", "3"}) {
    const tensors in = tensors_in(record, "in" + batch + "_");
    const tensors out = tensors_in(record, "out" + batch + "_");
    line["plain" + batch] = compared(plain, in, out);
    line["rewritten" + batch] = compared(rewritten, in, out);
    line["cuts" + batch] = cuts_of(plain, in);
    line["rewritten_cuts" + batch] = cuts_of(rewritten, in);
  }
  line["rewrites"] = json_of(made);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: zoo_cuts MODEL DATA\n";
    return 2;
  }
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  nlohmann::json line;
  try {
    compare(argv[1], argv[2], line);
  } catch (const std::exception& error) {
    line["error"] = std::string(error.what()).substr(0, 1500);
  }
  std::cout << line.dump() << std::endl;
  return 0;
}
