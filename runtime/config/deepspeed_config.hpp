#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/batch_rule.hpp"
#include "runtime/config/setting.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What a DeepSpeed configuration says that means something here (docs/config.md).
struct deepspeed_config {
  std::string file;
  batch_numbers batch;
  /// Options that it gives beside the batch: stages, partition, dtype. Each comes from "ds.json: pipeline.stages".
  std::vector<setting> settings;
  /// A line each: keys that mean nothing here, and keys that are "auto", which count as not given.
  std::vector<std::string> warnings;
};

/// Whether `path` is read as a DeepSpeed configuration rather than as TOML: its name ends in ".json".
bool names_deepspeed_config(std::string_view path);

/// Reads the file. Errors: E0401 no such file or a directory, E0402 no JSON (parse_strict_json) or too long, E0404
/// wrong type or value; the last with the key's path.
expected<deepspeed_config> read_deepspeed_config(const std::string& path);
/// The same of a text; `name` stands for the file in places.
expected<deepspeed_config> parse_deepspeed_config(std::string_view text, const std::string& name);

/// resolve_batch() of the file; E0404.
expected<batch_sizes> batch_of(const deepspeed_config& config, std::int64_t replicas);
/// micro_batch as the file gives it.
setting micro_batch_setting(const deepspeed_config& config, const batch_sizes& sizes);

}  // namespace troupe
