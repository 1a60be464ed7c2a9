#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/archive/zip_directory.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A model's file, open. It is a zip file, whatever it holds. One thread at a time.
struct archive_file {
  std::string name;  ///< of the file, as errors call it
  std::ifstream stream;
  std::uint64_t bytes = 0;
  /// In the order of the zip file's directory.
  std::vector<zip_entry> entries;

  /// Gives the content of an entry to `take` in pieces, unpacked. E0203 it is cut off; E0210 damaged; E0213 altered.
  expected<void> read(const zip_entry& entry, const std::function<void(std::string_view piece)>& take);
};

/// Opens a model's file and reads the directory of its entries, and no content. Errors name the file, and what it is
/// where it is none: E0201 does not exist, E0202 is a directory, E0203 truncated or empty, E0205 legacy pickle
/// (pre-zip), E0206 git-lfs pointer, E0207 anything else that is no zip file, E0210 unreadable or damaged, E0213
/// entries that overlap. Any thread.
expected<archive_file> open_archive(const std::filesystem::path& file);

/// What to do about a file that is no model.
inline constexpr auto export_fix =
    "export the model with its code, in Python: program = torch.export.export(model.eval(), (example,), "
    "dynamic_shapes=({0: torch.export.Dim(\"batch\", min=1, max=65536)},)); torch.export.save(program, \"model.pt2\")";
/// About a file that has weights and no code.
inline constexpr auto weights_fix =
    "give it with --weights, and with --arch the name of its architecture, if that is built in (docs/weights.md); or "
    "export a model with its code from Python (docs/exporting.md), and give that with --model";

}  // namespace troupe
