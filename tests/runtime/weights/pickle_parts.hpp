#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../../support/zip_writer.hpp"

/// Pickles of protocol 2, opcode by opcode (Python's pickletools.py), and files of torch.save around them.
namespace troupe::testing::parts {

inline std::string text(const std::string& value) {
  return "X" + little_endian(value.size(), 4) + value;
}
inline std::string whole(std::int64_t value) {
  return "\x8a" + little_endian(8, 1) + little_endian(static_cast<std::uint64_t>(value), 8);
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& each : items) all += each;
  return all + "t";
}
inline std::string call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + tuple(arguments) + "R";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = "}(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u";
}
inline std::string sizes(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t each : values) items.push_back(whole(each));
  return tuple(items);
}
inline std::string storage(const std::string& type = "FloatStorage", const std::string& key = "0",
                           std::int64_t elements = 6) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), whole(elements)}) + "Q";
}
inline const std::string no_hooks = global("collections", "OrderedDict") + ")R";
/// Unless told otherwise, all six numbers of a storage of six.
inline std::string tensor(const std::string& of = storage(), const std::string& offset = whole(0),
                          const std::string& size = sizes({2, 3}), const std::string& stride = sizes({3, 1})) {
  return call(global("torch._utils", "_rebuild_tensor_v2"), {of, offset, size, stride, "\x89", no_hooks});
}
inline std::string pickle(const std::string& value) {
  return std::string("\x80\x02") + value + ".";
}
inline std::string repeated(const std::string& each, std::size_t times) {
  std::string all;
  all.reserve(each.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += each;
  return all;
}

/// 24 bytes: the numbers 0 to 5 in float32.
inline const std::string six_floats = little_endian(0, 4) + little_endian(0x3f800000, 4) +
                                      little_endian(0x40000000, 4) + little_endian(0x40400000, 4) +
                                      little_endian(0x40800000, 4) + little_endian(0x40a00000, 4);

/// The entries of a zip file of torch.save with one storage, "0".
inline std::vector<zip_item> zip_items(const std::string& pickled, const std::string& bytes = six_floats) {
  return {stored("w/data.pkl", pickled), stored("w/byteorder", "little"), stored("w/data/0", bytes),
          stored("w/version", "3\n")};
}

inline std::string legacy_head() {
  return pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") + pickle("M\xe9\x03") +
         pickle(dict({{"protocol_version", "M\xe9\x03"}, {"little_endian", "\x88"}}));
}
/// The older format. If the pickle names a storage, it is "0", with as many elements as `bytes` has in float32.
inline std::string legacy_file(const std::string& pickled, const std::string& bytes = six_floats) {
  const bool has_storage = pickled.find(text("storage")) != std::string::npos;
  if (!has_storage) return legacy_head() + pickled + pickle("]");
  return legacy_head() + pickled + pickle("]" + text("0") + "a") + little_endian(bytes.size() / 4, 8) + bytes;
}

/// A safetensors file with this header and so many bytes behind it.
inline std::string safetensors_file(const std::string& header, std::size_t bytes) {
  return little_endian(header.size(), 8) + header + std::string(bytes, '\1');
}

}  // namespace troupe::testing::parts
