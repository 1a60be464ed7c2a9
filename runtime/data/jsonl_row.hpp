#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/data/table_source.hpp"

namespace troupe {

/// Objects inside of objects and arrays, in one row.
inline constexpr std::size_t jsonl_depth_max = 64;

/// A row of JSON that is none, or does not have a key once.
struct jsonl_problem {
  std::string cause;
  std::string fix;
  /// The key, where there is one.
  std::string column;
};

/// Names of keys, with their places from 0 on.
using key_places = std::unordered_map<std::string_view, std::size_t>;

/// The cells of an object in JSON: of those keys whose names are `wanted`, each in its place, or nothing where there is
/// no such key or null. A name with dots goes into objects: "answers.text".
std::optional<jsonl_problem> read_jsonl_row(std::string_view line, const key_places& wanted,
                                            std::vector<table_cell>& into);

/// All its keys, in order, those inside of objects too; those of objects inside of arrays not.
std::optional<jsonl_problem> read_jsonl_keys(std::string_view line, std::vector<std::string>& into);

}  // namespace troupe
