#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/os/errno_text.hpp"
#include "runtime/os/file_replacement.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A file of predictions, as file_replacement writes it. Errors: E0611.
class prediction_output {
 public:
  explicit prediction_output(std::string path) : path_(std::move(path)), file_(path_) {}

  /// Refuses a directory, which could not be replaced at the end.
  [[nodiscard]] expected<void> open() {
    std::error_code none;
    return told(std::filesystem::is_directory(path_, none) ? EISDIR : file_.open());
  }
  [[nodiscard]] expected<void> write(std::string_view content) { return told(file_.write(content)); }
  [[nodiscard]] expected<void> write_at_begin(std::string_view content) { return told(file_.write_at_begin(content)); }
  [[nodiscard]] expected<void> publish() { return told(file_.publish()); }

 private:
  [[nodiscard]] expected<void> told(int reason) const {
    if (reason == 0) return {};
    return fail(error_code::output_unwritable, path_, "the predictions cannot be written: " + errno_text(reason),
                "make room, or name a file in a directory that can be written (--predictions)");
  }

  std::string path_;
  file_replacement file_;
};

}  // namespace troupe
