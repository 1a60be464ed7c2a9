#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace troupe::testing {

/// A text file that stands where a library should, as long as this lives.
class file_that_is_no_library {
 public:
  file_that_is_no_library() {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe_library_XXXXXX").string();
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(path()) << "this is text and no library, yet as long as the header of one, which takes 64 bytes\n";
  }
  ~file_that_is_no_library() { std::filesystem::remove_all(folder_); }
  file_that_is_no_library(const file_that_is_no_library&) = delete;
  file_that_is_no_library& operator=(const file_that_is_no_library&) = delete;

  [[nodiscard]] std::string path() const { return (folder_ / "library.so").string(); }

 private:
  std::filesystem::path folder_;
};

}  // namespace troupe::testing
