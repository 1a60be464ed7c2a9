#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace troupe::testing {

/// All that a page can name in a tree: taken from the sources, without the comments of C++, and without tests/docs.
struct named_things {
  std::set<std::string> words;                 // identifiers, from sources, CMake files, scripts and presets
  std::vector<std::set<std::string>> headers;  // words of each: a member and its class stand in one
  std::set<std::string> flags;        // "--stages": string literals that are flags, and options of the option table
  std::set<std::string> error_codes;  // "E0203"
  std::set<std::string> file_names;   // "ids.hpp", of all files
  std::set<std::string> test_names;   // stems of the sources below tests/, and words of their CMakeLists.txt
  std::set<std::string> folders;      // folders and files directly below the root
};

named_things things_of(const std::filesystem::path& root);

}  // namespace troupe::testing
