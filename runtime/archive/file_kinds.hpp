#pragma once

#include <string_view>

namespace troupe {

// What a file is, by its first bytes. They need not be all of the file; 512 suffice.

/// A zip file, perhaps one without entries.
bool is_zip_file(std::string_view head);
/// A pickle of protocol 2 to 5.
bool is_pickle(std::string_view head);
/// A length and a JSON object.
bool is_safetensors(std::string_view head);
bool is_tar_file(std::string_view head);
/// The text that git-lfs keeps in place of a file.
bool is_lfs_pointer(std::string_view head);

/// A file that is mistaken for a model or for weights.
struct look_alike {
  std::string_view start;
  std::string_view name;  ///< "a gzip file"
  std::string_view fix;   ///< empty where no more is known than that the file is another one
};

/// Null for none that is known.
const look_alike* look_alike_of(std::string_view head);

}  // namespace troupe
