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

/// "a gzip file", "a NumPy array", "an HTML or XML page", for files that are mistaken for a model; empty for none of
/// them.
std::string_view look_alike_of(std::string_view head);

}  // namespace troupe
