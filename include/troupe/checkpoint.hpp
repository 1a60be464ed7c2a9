#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

struct client_value;
/// What a program keeps in a checkpoint beside the weights: DeepSpeed's client_state.
using client_state = std::map<std::string, client_value>;

/// A value of it: nothing (None), a truth value, a number, a text, a tensor, a list or a dict of such values. In Python
/// it is a value of the builtin type, or a tensor on the CPU.
struct client_value {
  using list = std::vector<client_value>;
  using alternatives =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, at::Tensor, list, client_state>;

  client_value() = default;
  client_value(bool value) : value(value) {}
  client_value(int value) : value(std::int64_t{value}) {}
  client_value(std::int64_t value) : value(value) {}
  client_value(double value) : value(value) {}
  client_value(const char* value) : value(std::string(value)) {}
  client_value(std::string value) : value(std::move(value)) {}
  client_value(at::Tensor value) : value(std::move(value)) {}
  client_value(list value) : value(std::move(value)) {}
  client_value(client_state value) : value(std::move(value)) {}

  alternatives value;
};

/// What a load of a checkpoint gives beside the weights.
struct loaded_checkpoint {
  std::string tag;
  troupe::client_state client_state;
  /// Members of the file that are no data, such as an argparse.Namespace, and were left out, by name.
  std::vector<std::string> left_out;
};

}  // namespace troupe
