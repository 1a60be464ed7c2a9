#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "runtime/archive/archive_file.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The entries of a file that torch.export.save wrote, by their names below the archive's folder: "models/model.json",
/// "data/weights/weight_0".
class exported_archive {
 public:
  /// E0210 for two entries of one name; E0207 without a model.
  static expected<exported_archive> open(archive_file file);

  /// Nothing where there is no such entry.
  [[nodiscard]] const zip_entry* find(const std::string& name) const;
  /// A JSON text. E0210 where there is none; E0213; E0214.
  expected<nlohmann::json> json(const std::string& name);
  /// The content of an entry in pieces. E0203, E0210, E0213.
  expected<void> read(const zip_entry& entry, const std::function<void(std::string_view piece)>& take) {
    return file_.read(entry, take);
  }

  /// The size of the whole file.
  [[nodiscard]] std::uint64_t bytes() const { return file_.bytes; }
  [[nodiscard]] const std::string& where() const { return file_.name; }

 private:
  explicit exported_archive(archive_file file) : file_(std::move(file)) {}
  /// Why a file without models/model.json is no model: a failed export, an older layout, an AOTInductor package.
  [[nodiscard]] tl::unexpected<error> says_no_model() const;

  archive_file file_;
  /// They point into the file's vector, which keeps its place when this is moved.
  std::map<std::string, const zip_entry*, std::less<>> entries_;
};

}  // namespace troupe
