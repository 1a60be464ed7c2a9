#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/archive/zip_directory.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The entries of a file that torch.export.save wrote, by their names below the archive's folder: "models/model.json",
/// "data/weights/weight_0".
class exported_archive {
 public:
  /// Reads the directory, and no content. Errors: E0203 truncated; E0210 cannot be read, damaged, or two entries of one
  /// name; E0213 altered; and what says_no_model() finds.
  static expected<exported_archive> open(const std::filesystem::path& file);

  /// Nothing where there is no such entry.
  [[nodiscard]] const zip_entry* find(const std::string& name) const;
  /// A JSON text. E0210 where there is none; E0213; E0214.
  expected<nlohmann::json> json(const std::string& name);
  /// The content of an entry in pieces. E0203, E0210, E0213.
  expected<void> read(const zip_entry& entry, const std::function<void(std::string_view piece)>& take);

  /// The size of the whole file.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  /// Why a file without models/model.json is no model: a failed export, an older layout, an AOTInductor package, a
  /// state dict.
  [[nodiscard]] tl::unexpected<error> says_no_model() const;

  std::ifstream file_;
  std::uint64_t bytes_ = 0;
  std::string where_;
  std::map<std::string, zip_entry, std::less<>> entries_;
};

}  // namespace troupe
