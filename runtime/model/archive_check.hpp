#pragma once

#include <istream>
#include <string>
#include <vector>

#include "runtime/model/zip_directory.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Reads a whole TorchScript archive as LibTorch will, and builds and runs nothing: every entry has its size and its
/// checksum, packed ones unpack to no more than limits::model_unpacked_bytes_max, pickled objects and code are nested
/// no deeper than LibTorch's recursion can go, and the code has no effects unless `how` takes them. `where` begins the
/// errors: E0203, E0210, E0212, E0213, E0214. Takes memory for the largest entry of code or pickled objects.
expected<void> check_archive(std::istream& file, const std::vector<zip_entry>& entries, const model_loading& how,
                             const std::string& where);

/// The error that a zip file's fault is to a user.
tl::unexpected<error> zip_error(const zip_fault& fault, const std::string& where);

}  // namespace troupe
