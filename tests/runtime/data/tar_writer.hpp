#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "sample_files.hpp"

namespace troupe::testing {

struct tar_entry {
  std::string name;
  bytes content = {};
  char type = '0';
  /// The field as it stands, where it is a lie.
  std::string size_field = {};
  std::string link = {};
  /// What stands before the name, in the field prefix.
  std::string folder = {};
};

/// POSIX.1-1988 ustar, by hand.
inline bytes tar_of(const std::vector<tar_entry>& entries, bool has_end = true) {
  constexpr std::size_t block = 512;
  bytes made;
  for (const tar_entry& each : entries) {
    std::string header(block, '\0');
    const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
    char size[13];
    std::snprintf(size, sizeof size, "%011zo", each.content.size());
    put(0, each.name.substr(0, 100));
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, each.size_field.empty() ? std::string(size) : each.size_field);
    put(136, "00000000000");
    put(148, "        ");
    header[156] = each.type;
    put(157, each.link);
    put(257, std::string("ustar\0"
                         "00",
                         8));
    put(345, each.folder);
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char checksum[8];
    std::snprintf(checksum, sizeof checksum, "%06o", sum);
    put(148, checksum);
    made.insert(made.end(), header.begin(), header.end());
    made.insert(made.end(), each.content.begin(), each.content.end());
    made.resize((made.size() + block - 1) / block * block);
  }
  if (has_end) made.resize(made.size() + 2 * block);
  return made;
}

}  // namespace troupe::testing
