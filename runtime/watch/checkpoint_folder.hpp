#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A file or folder that has the name and the form of a checkpoint.
struct seen_checkpoint {
  std::uint64_t step = 0;
  /// Within the folder that is watched.
  std::string name = {};
  /// DeepSpeed's `latest` is there and names an earlier step: the writer has not finished.
  bool is_unnamed = false;
};

/// What changes when a checkpoint is written to.
struct checkpoint_stamp {
  /// A hash of names, sizes, times and inodes.
  std::uint64_t hash = 0;
  /// The newest time of its files.
  std::filesystem::file_time_type newest = {};
  bool operator==(const checkpoint_stamp&) const = default;
};

/// The checkpoints in a folder, by step and then by name. One has a step in its name (checkpoint_step()) and is
///   - a file that ends in .safetensors, .pt, .pt2, .pth, .ckpt, .bin or .th,
///   - a folder of transformers, with weights as load_weights() reads them, or
///   - the folder of a tag as DeepSpeed writes it.
/// Left out are links, hidden names, names that begin with "tmp", and those that end in .tmp, .part, .partial or
/// .incomplete. Errors: E0201 where the folder is not there, E0210 where it cannot be read.
[[nodiscard]] expected<std::vector<seen_checkpoint>> checkpoints_in(const std::filesystem::path& folder);

/// That of all files directly in a folder, or of a file. Nothing where it is not there any more.
[[nodiscard]] std::optional<checkpoint_stamp> stamp_of(const std::filesystem::path& checkpoint);

}  // namespace troupe
