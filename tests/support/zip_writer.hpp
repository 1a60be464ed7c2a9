#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

/// CRC-32 by its definition, bit by bit.
inline std::uint32_t slow_crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

/// One entry as it shall stand in the file, true or not.
struct zip_item {
  std::string name;
  /// As it lies in the file.
  std::string content = {};
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  bool packed = false;
};

inline zip_item stored(std::string name, std::string content) {
  zip_item item{.name = std::move(name)};
  item.bytes = content.size();
  item.crc = slow_crc32(content);
  item.content = std::move(content);
  return item;
}

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xffU);
  return text;
}

/// A zip file (PKWARE APPNOTE) of these entries, without zip64.
inline std::string zip_file(const std::vector<zip_item>& items) {
  std::string file;
  std::string directory;
  for (const zip_item& each : items) {
    const std::string common = little_endian(20, 2) + little_endian(0, 2) + little_endian(each.packed ? 8 : 0, 2) +
                               little_endian(0, 4) + little_endian(each.crc, 4) +
                               little_endian(each.content.size(), 4) + little_endian(each.bytes, 4) +
                               little_endian(each.name.size(), 2) + little_endian(0, 2);
    directory +=
        "PK\1\2" + little_endian(20, 2) + common + little_endian(0, 10) + little_endian(file.size(), 4) + each.name;
    file += "PK\3\4" + common + each.name + each.content;
  }
  const std::uint64_t place = file.size();
  return file + directory + "PK\5\6" + little_endian(0, 4) + little_endian(items.size(), 2) +
         little_endian(items.size(), 2) + little_endian(directory.size(), 4) + little_endian(place, 4) +
         little_endian(0, 2);
}

}  // namespace troupe::testing
