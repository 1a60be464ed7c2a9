// Runs the graph of one exported model of make_zoo.py in parts, without the runtime around it, and compares with eager
// PyTorch: as a whole, layer by layer, and cut at up to 12 places between operators. One JSON object on stdout.
//   zoo_cuts MODEL DATA
#include <iostream>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <nlohmann/json.hpp>
#include <torch/script.h>

#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/graph_layers.hpp"
#include "runtime/graph/graph_part.hpp"
#include "runtime/model/lower_module.hpp"
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

bool are_same(const tensors& found, const tensors& eager) {
  if (found.size() != eager.size()) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool is_alike = found[i].sizes() == eager[i].sizes() && found[i].dtype() == eager[i].dtype();
    if (!is_alike || !found[i].equal(eager[i])) return false;
  }
  return true;
}

class cut_check {
 public:
  cut_check(const troupe::operator_graph& model, nlohmann::json& line) : model_(model), live_(model), line_(line) {
    layers_ = troupe::find_layers(model_, live_, troupe::layer_unit::modules);
    line_["steps"] = live_.steps();
    line_["layers"] = layers_.size();
    std::size_t places = 0;
    for (std::size_t place = 1; place < live_.steps(); ++place) places += live_.objection(place) ? 0 : 1;
    line_["places"] = places;
  }

  void compare(const tensors& in, const tensors& out) {
    const std::string size = std::to_string(in.front().size(0));
    note("whole" + size, are_same(run(0, live_.steps(), copies(in)), out));
    tensors values = copies(in);
    for (const troupe::graph_layer& each : layers_) values = copies(run(each.begin, each.end, values));
    note("layers" + size, are_same(values, out));
    const std::size_t stride = std::max<std::size_t>(1, live_.steps() / most_cuts);
    std::size_t wrong = 0;
    std::size_t tried = 0;
    for (std::size_t place = 1 + stride / 2; place < live_.steps(); place += stride) {
      if (live_.objection(place)) continue;
      const tensors between = copies(run(0, place, copies(in)));
      ++tried;
      if (!are_same(run(place, live_.steps(), copies(between)), out)) ++wrong;
    }
    line_["cuts" + size] = std::to_string(tried) + " tried, " + std::to_string(wrong) + " wrong";
  }

 private:
  tensors run(std::size_t begin, std::size_t end, tensors inputs) const {
    return troupe::graph_code(troupe::make_part(model_, live_, begin, end)).run(std::move(inputs));
  }
  void note(const std::string& what, bool is_same) { line_[what] = is_same; }

  const troupe::operator_graph& model_;
  troupe::live_values live_;
  std::vector<troupe::graph_layer> layers_;
  nlohmann::json& line_;
};

void compare(const char* model, const char* data, nlohmann::json& line) {
  torch::jit::Module module = torch::jit::load(model, at::kCPU);
  module.eval();
  auto lowered = troupe::lower_module(module, model);
  if (!lowered) throw std::runtime_error(to_string(lowered.error()));
  const torch::jit::Module record = torch::jit::load(data);
  const std::vector<std::string> inputs = names_in(record, "inputs");
  troupe::bind_inputs(*lowered, {inputs.begin(), inputs.end()});
  line["outputs"] = lowered->outputs == names_in(record, "outputs");
  cut_check check(*lowered, line);
  for (const char* batch : {"2", "3"}) {
    check.compare(tensors_in(record, std::string("in") + batch + "_"),
                  tensors_in(record, std::string("out") + batch + "_"));
  }
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
