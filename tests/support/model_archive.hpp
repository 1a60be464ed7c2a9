#pragma once

#include <string>
#include <vector>

#include "zip_writer.hpp"

namespace troupe::testing {

/// The pickle of an object of class __torch__.Net without parameters.
inline std::string pickled_net() {
  return std::string("\x80\x02") + "c__torch__\nNet\n)\x81}(X" + little_endian(8, 4) + "training\x89" + "ub.";
}

/// The code of class Net with these methods, indented by two.
inline std::string net_code(const std::string& methods) {
  return "class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n" + methods;
}

/// "forward" with these statements, indented by four; x is the input, the ten numbers of an image come out.
inline std::string net_forward(const std::string& statements) {
  return "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n" + statements +
         "    return torch.slice(torch.flatten(x, 1), 1, 0, 10)\n";
}

/// The entries of a TorchScript archive written by hand, in which anything may stand.
inline std::vector<zip_item> model_items(const std::string& code, const std::string& data = pickled_net()) {
  return {stored("m/data.pkl", data), stored("m/code/__torch__.py", code),
          stored("m/constants.pkl", std::string("\x80\x02") + ")."), stored("m/version", "3\n")};
}

inline std::string model_archive(const std::string& code, const std::string& data = pickled_net()) {
  return zip_file(model_items(code, data));
}

inline std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// Tuples within tuples, as the value of an attribute.
inline std::string nested_tuples(std::size_t depth) {
  return std::string("\x80\x02") + "c__torch__\nNet\n)\x81}(X" + little_endian(8, 4) + "training" + ")" +
         repeated("\x85", depth) + "ub.";
}

/// Expressions that a recursive compiler goes as deep for.
inline std::string nested_calls(std::size_t depth) {
  return "    y = " + repeated("torch.relu(", depth) + "x" + repeated(")", depth) + "\n";
}
inline std::string nested_parentheses(std::size_t depth) {
  return "    y = " + repeated("(", depth) + "x" + repeated(")", depth) + "\n";
}
inline std::string long_sum(std::size_t terms) {
  return "    y = x" + repeated(" + x", terms) + "\n";
}

}  // namespace troupe::testing
