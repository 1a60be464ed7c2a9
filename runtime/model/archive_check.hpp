#pragma once

#include <istream>
#include <string>
#include <vector>

#include "runtime/archive/zip_directory.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Checks a TorchScript archive before LibTorch loads it. No object is made and no code runs. `file` is seekable,
/// `entries` its directory (zip_directory.hpp). Peak memory: the largest entry of code or pickled objects, unpacked;
/// weights are read in blocks. Position and state of `file` are unspecified afterwards. `where` starts the place of
/// each error.
/// Errors: E0203 an entry is cut off. E0210 the archive cannot be read. E0212 the code prints, touches files or
/// processes, or uses operators that are not known, and `how.allow_effects` is false. E0213 the size or the CRC-32 of
/// an entry is wrong. E0214 an entry of code or objects is larger than limits::model_text_bytes_max, all packed entries
/// together unpack to more than limits::model_unpacked_bytes_max, or objects or code are nested so deep that LibTorch's
/// recursive reader would overflow its stack. E0207 it is an archive of the old format.
[[nodiscard]] expected<void> check_archive(std::istream& file, const std::vector<zip_entry>& entries,
                                           const model_loading& how, const std::string& where);

/// The error that a user sees for a fault in a zip file; `where` is its place. truncated: E0203. altered: E0213.
/// damaged: E0210.
tl::unexpected<error> zip_error(const zip_fault& fault, const std::string& where);

}  // namespace troupe
