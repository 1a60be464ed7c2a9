#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../../support/model_archive.hpp"

namespace troupe::testing {

/// An archive that was made to do harm.
struct hostile_case {
  std::string name;
  std::function<std::vector<zip_item>()> items;
  /// What the outcome must have in it: an error code, or "good" for a file that is read, since there is no harm in it.
  std::string outcome;
};

/// In its code.
std::vector<hostile_case> hostile_code();
/// In its pickled objects and tensors.
std::vector<hostile_case> hostile_objects();

/// The opcodes of pickle: what LibTorch's own writer makes.
namespace pickle {
inline std::string text(const std::string& value) {
  return "X" + little_endian(value.size(), 4) + value;
}
inline std::string number(std::int64_t value) {
  return std::string("\x8a\x08") + little_endian(static_cast<std::uint64_t>(value), 8);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::string& members) {
  return "(" + members + "t";
}
inline std::string numbers(const std::vector<std::int64_t>& values) {
  std::string all;
  for (const std::int64_t each : values) all += number(each);
  return tuple(all);
}
inline std::string storage(std::int64_t elements, const std::string& type = global("torch", "FloatStorage"),
                           const std::string& key = "0") {
  return tuple(text("storage") + type + text(key) + text("cpu") + number(elements)) + "Q";
}
inline std::string tensor(const std::string& held, std::int64_t offset, const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(held + number(offset) + numbers(sizes) + numbers(strides) + "\x89" +
               global("collections", "OrderedDict") + ")R") +
         "R";
}
/// An object of class __torch__.Net with these attributes, names and values.
inline std::string net(const std::string& attributes) {
  return std::string("\x80\x02") + global("__torch__", "Net") + ")\x81}(" + text("training") + "\x89" + attributes +
         "ub.";
}
}  // namespace pickle

/// A net with one more attribute, of this type and pickled value, and a record of 16 bytes.
inline std::vector<zip_item> net_with(const std::string& type, const std::string& value,
                                      const std::string& statements = "") {
  auto items = model_items(net_code("  weight : " + type + "\n" + net_forward(statements)),
                           pickle::net(pickle::text("weight") + value));
  items.push_back(stored("m/data/0", std::string(16, '\1')));
  return items;
}

}  // namespace troupe::testing
