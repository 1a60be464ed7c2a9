#include "runtime/config/deepspeed_config.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "runtime/config/config_file.hpp"
#include "runtime/config/strict_json.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

/// How much of a text from outside errors and warnings show.
constexpr std::size_t value_bytes_shown = 60;
constexpr std::size_t path_bytes_shown = 80;
constexpr std::size_t paths_shown_max = 40;

/// Values as the file has them; nothing for a key that is not there, null or "auto".
struct written_values {
  std::optional<std::int64_t> train_batch_size;
  std::optional<std::int64_t> micro_batch;
  std::optional<std::int64_t> accumulation_steps;
  std::optional<std::int64_t> stages;
  std::optional<std::string> partition;
  std::optional<bool> fp16;
  std::optional<bool> fp16_casts_inputs;
  std::optional<bool> bf16;
  std::optional<bool> bfloat16;
};

using count_member = std::optional<std::int64_t> written_values::*;
using text_member = std::optional<std::string> written_values::*;
using truth_member = std::optional<bool> written_values::*;

struct known_key {
  std::string_view path;
  std::variant<count_member, text_member, truth_member> member;
  std::string_view example;
  /// The largest count.
  std::int64_t maximum = 0;
};

constexpr std::string_view train_batch_path = "train_batch_size";
constexpr std::string_view micro_batch_path = "train_micro_batch_size_per_gpu";
constexpr std::string_view stages_path = "pipeline.stages";
constexpr std::string_view partition_path = "pipeline.partition";
constexpr std::string_view fp16_path = "fp16.enabled";
constexpr std::string_view bf16_path = "bf16.enabled";
/// The former name of bf16; DeepSpeed reads it where there is no bf16.
constexpr std::string_view bfloat16_path = "bfloat16.enabled";

/// The only list of keys that mean something here. Inputs are cast to the type of the model whatever fp16.auto_cast
/// says, so it is neither an option nor in the warning.
const std::array known_keys = {
    known_key{train_batch_path, &written_values::train_batch_size, "64", train_batch_max},
    known_key{micro_batch_path, &written_values::micro_batch, "64", limits::micro_batch_max},
    known_key{"gradient_accumulation_steps", &written_values::accumulation_steps, "1", accumulation_steps_max},
    known_key{stages_path, &written_values::stages, "4", limits::stages_max},
    known_key{partition_path, &written_values::partition, "\"parameters\""},
    known_key{fp16_path, &written_values::fp16, "true"},
    known_key{"fp16.auto_cast", &written_values::fp16_casts_inputs, "true"},
    known_key{bf16_path, &written_values::bf16, "true"},
    known_key{bfloat16_path, &written_values::bfloat16, "true"},
};

const known_key* find_key(std::string_view path) {
  const auto* const found = std::ranges::find_if(known_keys, [&](const known_key& each) { return each.path == path; });
  return found == known_keys.end() ? nullptr : &*found;
}

/// Whether the key has members that mean something.
bool is_group(std::string_view name) {
  const std::string begin = std::string(name) + ".";
  return std::ranges::any_of(known_keys, [&](const known_key& each) { return each.path.starts_with(begin); });
}

/// The name behind the group, as it stands in the file.
std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('.') + 1);  // npos + 1 is 0
}

std::string list_text(const std::vector<std::string>& paths) {
  const std::size_t shown = std::min(paths.size(), paths_shown_max);
  const auto text = fmt::format("{}", fmt::join(std::span(paths).first(shown), ", "));
  return shown == paths.size() ? text : fmt::format("{} and {} more", text, paths.size() - shown);
}

class config_reader {
 public:
  explicit config_reader(std::string file) { config_.file = std::move(file); }

  expected<deepspeed_config> read(const json& root) {
    if (!root.is_object()) {
      return fail(error_code::config_syntax, config_.file, "the file holds no JSON object",
                  "write for example {\"train_micro_batch_size_per_gpu\": 64}");
    }
    for (const auto& [key, value] : root.items()) {
      const bool is_replaced = key == "bfloat16" && root.contains("bf16") && !root["bf16"].is_null();
      if (is_group(key) && !is_replaced) {
        TROUPE_TRY(take_group(key, value));
      } else {
        TROUPE_TRY(take(key, value));
      }
    }
    config_.batch = {written_.train_batch_size, written_.micro_batch, written_.accumulation_steps};
    TROUPE_TRY(add_settings());
    add_warnings();
    return std::move(config_);
  }

 private:
  [[nodiscard]] std::string place_of(std::string_view path) const {
    return fmt::format("{}: {}", config_.file, printable(path, path_bytes_shown));
  }

  [[nodiscard]] tl::unexpected<error> bad(std::string_view path, std::string cause, std::string fix) const {
    return fail(error_code::config_bad_value, place_of(path), std::move(cause), std::move(fix));
  }

  [[nodiscard]] tl::unexpected<error> unlike(const known_key& key, const json& found,
                                             std::string_view expected_value) const {
    const std::string text = found.dump(-1, ' ', false, json::error_handler_t::replace);
    return bad(key.path, fmt::format("{}, expected {}", printable(text, value_bytes_shown), expected_value),
               fmt::format("write for example \"{}\": {}", last_name(key.path), key.example));
  }

  expected<void> take_group(const std::string& name, const json& members) {
    if (members.is_null()) return {};
    if (!members.is_object()) {
      return bad(
          name,
          fmt::format("{}, expected an object",
                      printable(members.dump(-1, ' ', false, json::error_handler_t::replace), value_bytes_shown)),
          "leave it out, or write its keys between { and }");
    }
    for (const auto& [key, value] : members.items()) {
      TROUPE_TRY(take(fmt::format("{}.{}", name, key), value));
    }
    return {};
  }

  expected<void> take(const std::string& path, const json& value) {
    const known_key* const key = find_key(path);
    if (key == nullptr) {
      ignore(path);
      return {};
    }
    if (value.is_null()) return {};
    if (value == "auto") {
      automatic_.emplace_back(path);
      return {};
    }
    return std::visit([&](auto member) { return set(*key, member, value); }, key->member);
  }

  expected<void> set(const known_key& key, count_member member, const json& value) {
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                      value.get<std::uint64_t>() <= static_cast<std::uint64_t>(key.maximum);
    if (!fits) return unlike(key, value, fmt::format("a whole number from 1 to {}", key.maximum));
    written_.*member = value.get<std::int64_t>();
    return {};
  }
  expected<void> set(const known_key& key, text_member member, const json& value) {
    if (!value.is_string()) return unlike(key, value, "a text");
    written_.*member = value.get<std::string>();
    return {};
  }
  expected<void> set(const known_key& key, truth_member member, const json& value) {
    if (!value.is_boolean()) return unlike(key, value, "true or false");
    written_.*member = value.get<bool>();
    return {};
  }

  void ignore(const std::string& path) {
    std::vector<std::string> known;
    known.reserve(known_keys.size());
    for (const known_key& each : known_keys) known.emplace_back(each.path);
    const auto near = suggest(path, known);
    const std::string shown = printable(path, path_bytes_shown);
    ignored_.push_back(near ? fmt::format("{} (did you mean {}?)", shown, *near) : shown);
  }

  void add(std::string_view option_name, option_value value, std::string_view path) {
    config_.settings.push_back({find_option(option_name), std::move(value), {origin_kind::file, place_of(path)}});
  }

  expected<void> add_settings() {
    if (written_.stages) add("stages", *written_.stages, stages_path);
    if (written_.partition) {
      TROUPE_TRY(add_partition(*written_.partition == "best" ? "auto" : *written_.partition));
    }
    const bool is_bfloat16 = written_.bf16.value_or(false) || written_.bfloat16.value_or(false);
    const std::string_view bfloat16_from = written_.bf16 ? bf16_path : bfloat16_path;
    if (is_bfloat16 && written_.fp16.value_or(false)) {
      return bad(fp16_path, fmt::format("both this and {} are true, and a model has one type", bfloat16_from),
                 "write false for one of them");
    }
    if (is_bfloat16) add("dtype", "bfloat16", bfloat16_from);
    if (written_.fp16.value_or(false)) add("dtype", "float16", fp16_path);
    return {};
  }

  expected<void> add_partition(const std::string& method) {
    const auto problem = check_value(*find_option("partition"), method);
    if (method.empty() || problem) {
      return bad(partition_path, problem ? problem->cause : "is empty, expected a method",
                 problem && !problem->fix.empty() ? problem->fix : "write for example \"partition\": \"parameters\"");
    }
    add("partition", method, partition_path);
    return {};
  }

  void add_warnings() {
    if (!ignored_.empty()) {
      config_.warnings.push_back(fmt::format("{}: these keys mean nothing in an evaluation and are ignored: {}",
                                             config_.file, list_text(ignored_)));
    }
    if (!automatic_.empty()) {
      config_.warnings.push_back(
          fmt::format("{}: \"auto\" counts as not given: {}", config_.file, list_text(automatic_)));
    }
  }

  written_values written_;
  std::vector<std::string> ignored_;
  std::vector<std::string> automatic_;
  deepspeed_config config_;
};

}  // namespace

bool names_deepspeed_config(std::string_view path) {
  return path.ends_with(".json");
}

expected<deepspeed_config> read_deepspeed_config(const std::string& path) {
  const std::string text = TROUPE_TRY(read_config_text(path, "DeepSpeed configuration"));
  return parse_deepspeed_config(text, path);
}

expected<deepspeed_config> parse_deepspeed_config(std::string_view text, const std::string& name) {
  const json root = TROUPE_TRY(parse_strict_json(text, name));
  return config_reader(name).read(root);
}

expected<batch_sizes> batch_of(const deepspeed_config& config, std::int64_t replicas) {
  auto sizes = resolve_batch(config.batch, replicas);
  if (sizes) return *sizes;
  const std::string where = config.batch.suffice() ? fmt::format("{}: {}", config.file, train_batch_path) : config.file;
  return fail(error_code::config_bad_value, where, sizes.error().cause, sizes.error().fix);
}

setting micro_batch_setting(const deepspeed_config& config, const batch_sizes& sizes) {
  const std::string_view path = config.batch.micro_batch ? micro_batch_path : train_batch_path;
  return {find_option("micro_batch"), sizes.micro_batch, {origin_kind::file, fmt::format("{}: {}", config.file, path)}};
}

}  // namespace troupe
