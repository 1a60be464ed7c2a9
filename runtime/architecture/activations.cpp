#include "runtime/architecture/activations.hpp"

#include <functional>
#include <map>

namespace troupe {
namespace {

using written = std::function<tensor_value(network& net, tensor_value x)>;

written of_name(const char* name) {
  return [name](network& net, tensor_value x) { return net.call(name, {x}); };
}

tensor_value gelu(network& net, tensor_value x) {
  return net.call("gelu", {x});
}

/// The formula with tanh, which transformers writes in five ways.
tensor_value gelu_by_tanh(network& net, tensor_value x) {
  return net.call("gelu", {x}, {{"approximate", "tanh"}});
}

const std::map<std::string, written>& activations() {
  static const std::map<std::string, written> table{
      {"gelu", gelu},
      {"gelu_10",
       [](network& net, tensor_value x) {
         return net.call("clamp", {gelu(net, x), -10, 10});
       }},
      {"gelu_accurate", gelu_by_tanh},
      {"gelu_fast", gelu_by_tanh},
      {"gelu_new", gelu_by_tanh},
      {"gelu_python", gelu},
      {"gelu_python_tanh", gelu_by_tanh},
      {"gelu_pytorch_tanh", gelu_by_tanh},
      {"leaky_relu", of_name("leaky_relu")},
      {"linear", [](network&, tensor_value x) { return x; }},
      {"mish", of_name("mish")},
      {"quick_gelu",
       [](network& net, tensor_value x) {
         return net.call("mul", {x, net.call("sigmoid", {net.call("mul", {x, 1.702})})});
       }},
      {"relu", of_name("relu")},
      {"relu2", [](network& net, tensor_value x) { return net.call("square", {net.call("relu", {x})}); }},
      {"relu6", of_name("relu6")},
      {"sigmoid", of_name("sigmoid")},
      {"silu", of_name("silu")},
      {"swish", of_name("silu")},
      {"tanh", of_name("tanh")},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& activation_names() {
  static const auto names = [] {
    std::vector<std::string> list;
    for (const auto& [name, function] : activations()) list.push_back(name);
    return list;
  }();
  return names;
}

tensor_value activation(network& net, const std::string& name, tensor_value x) {
  const auto found = activations().find(name);
  // a name that the configuration must not have is told by config_reader::finish()
  return found == activations().end() ? x : found->second(net, x);
}

}  // namespace troupe
