#include "tests/program/random_modules/random_module.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

namespace troupe::testing {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

/// `prefix` stands before the names of parameters: "self." in a child.
std::string code_of(const random_step& step, const std::vector<std::string>& inputs, const std::string& prefix) {
  std::string code = step.code;
  for (std::size_t place = 0; place < inputs.size(); ++place) {
    replace_all(code, "$" + std::to_string(place), inputs[place]);
  }
  replace_all(code, "@", prefix);
  return code;
}

std::string child_name(std::size_t step) {
  return "c" + std::to_string(step);
}

std::string line_of(const random_step& step, std::size_t index) {
  std::vector<std::string> inputs;
  for (const std::size_t each : step.inputs) inputs.push_back("v" + std::to_string(each));
  const std::string value =
      step.is_child ? "self." + child_name(step.called_again.value_or(index)) + ".forward(" + inputs[0] + ")"
                    : code_of(step, inputs, "self.s" + std::to_string(index) + "_");
  return "  v" + std::to_string(index + 1) + " = " + value + "\n";
}

std::string child_code(const random_step& step) {
  return "def forward(self, x):\n  return " + code_of(step, {"x"}, "self.") + "\n";
}

std::string block_code(const random_block& block) {
  std::string code = "def forward(self, v0):\n";
  for (std::size_t index = 0; index < block.steps.size(); ++index) code += line_of(block.steps[index], index);
  return code + "  return v" + std::to_string(block.steps.size()) + "\n";
}

bool is_buffer(const std::string& name) {
  return name == "m" || name == "v" || name == "k";
}

void add_parameters(torch::jit::Module& to, const random_step& step, const std::string& prefix) {
  for (const auto& [name, tensor] : step.parameters) {
    if (is_buffer(name)) {
      to.register_buffer(prefix + name, tensor);
    } else {
      to.register_parameter(prefix + name, tensor, false);
    }
  }
}

torch::jit::Module torchscript_of(const random_block& block, const std::string& type) {
  torch::jit::Module made(type);
  for (std::size_t index = 0; index < block.steps.size(); ++index) {
    const random_step& step = block.steps[index];
    if (step.called_again) continue;
    if (!step.is_child) {
      add_parameters(made, step, "s" + std::to_string(index) + "_");
      continue;
    }
    torch::jit::Module child(type + "Step" + std::to_string(index));
    add_parameters(child, step, "");
    child.define(child_code(step));
    made.register_module(child_name(index), child);
  }
  made.define(block_code(block));
  return made;
}

tensor_list parameters_of(const random_step& step, std::optional<at::ScalarType> dtype) {
  tensor_list made;
  for (const auto& [name, tensor] : step.parameters) {
    made.push_back(dtype && tensor.is_floating_point() ? tensor.to(*dtype) : tensor);
  }
  return made;
}

}  // namespace

double tolerance_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 1e-10;
    case at::kHalf:
      return 0.02;
    case at::kBFloat16:
      return 0.1;
    default:
      return 1e-4;
  }
}

double largest_difference(const at::Tensor& found, const at::Tensor& wanted) {
  if (found.sizes() != wanted.sizes() || found.scalar_type() != wanted.scalar_type()) {
    return std::numeric_limits<double>::infinity();
  }
  const double largest = wanted.to(at::kDouble).abs().max().item<double>();
  const double apart = (found.to(at::kDouble) - wanted.to(at::kDouble)).abs().max().item<double>();
  const double relative = apart / std::max(largest, 1e-6);
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

at::Tensor plain_output(const random_module& module, const at::Tensor& input, std::optional<at::ScalarType> dtype) {
  const c10::InferenceMode inference;
  at::Tensor value = input.clone();
  if (dtype) value = value.to(*dtype);
  for (const random_block& block : module.blocks) {
    tensor_list values = {value};
    for (const random_step& step : block.steps) {
      tensor_list inputs;
      for (const std::size_t each : step.inputs) inputs.push_back(values[each]);
      values.push_back(step.plain(inputs, parameters_of(step, dtype)));
    }
    value = values.back();
  }
  return value;
}

torch::jit::Module torchscript_of(const random_module& module) {
  torch::jit::Module whole("Sequential");
  std::string code = "def forward(self, x):\n";
  for (std::size_t index = 0; index < module.blocks.size(); ++index) {
    const std::string name = "b" + std::to_string(index);
    whole.register_module(name, torchscript_of(module.blocks[index], "Block" + std::to_string(index)));
    code += "  x = self." + name + ".forward(x)\n";
  }
  whole.define(code + "  return x\n");
  whole.eval();
  return whole;
}

std::string text_of(const random_module& module) {
  std::ostringstream text;
  text << "input " << module.input.sizes() << " of " << module.input.scalar_type() << ", strides "
       << module.input.strides() << '\n';
  for (std::size_t index = 0; index < module.blocks.size(); ++index) {
    const random_block& block = module.blocks[index];
    text << "block " << index << ": " << block_code(block);
    for (std::size_t step = 0; step < block.steps.size(); ++step) {
      const random_step& each = block.steps[step];
      if (each.called_again) continue;
      if (each.is_child) text << "  " << child_name(step) << ": " << code_of(each, {"x"}, "self.") << '\n';
      for (const auto& [name, tensor] : each.parameters) {
        text << "  step " << step << ", " << name << ": " << tensor.sizes() << " of " << tensor.scalar_type() << '\n';
      }
    }
  }
  return text.str();
}

}  // namespace troupe::testing
