#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include <troupe/tokenizer.hpp>

namespace troupe::testing {

/// The content of a file, unpacked where it is gzip.
std::string unpacked(const std::filesystem::path& file);

/// Unpacks the tokenizers of the folder `recorded` into `to`.
void unpack_tokenizers(const std::filesystem::path& to);

/// Compares each line of a file of record.py with what the tokenizers KIND.json in `folder` give. Gives the number of
/// lines; differences are failures of the test, the first few of them.
std::size_t compare_cases(const std::filesystem::path& lines, const std::filesystem::path& folder);

}  // namespace troupe::testing
