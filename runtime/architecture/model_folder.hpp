#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/architecture/architecture.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// A folder as Hugging Face's transformers and sentence-transformers write it, beside its weights. `locate` is that of
/// load_weights(), and never empty.
class model_folder {
 public:
  model_folder(std::filesystem::path folder, const file_locator& locate)
      : folder_(std::move(folder)), locate_(locate) {}

  /// It has a config.json.
  [[nodiscard]] bool is_model() const;
  [[nodiscard]] std::filesystem::path config_file() const;
  /// config.json. E0201 it is missing; E0210 it is no JSON text; E0214 beyond limits.
  [[nodiscard]] expected<nlohmann::json> config() const;
  /// What modules.json and the configuration of its Pooling say; nothing for a folder without modules.json. E0219 for
  /// modules and ways of pooling that are not built in.
  [[nodiscard]] expected<std::optional<sentence_embedding>> embedding() const;
  /// The files that these functions read.
  [[nodiscard]] std::vector<std::filesystem::path> files() const;

 private:
  [[nodiscard]] bool has(const std::filesystem::path& file) const;
  [[nodiscard]] expected<nlohmann::json> read(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  const file_locator& locate_;
};

}  // namespace troupe
