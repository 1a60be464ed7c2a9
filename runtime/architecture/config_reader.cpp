#include "runtime/architecture/config_reader.hpp"

#include <algorithm>

#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr std::int64_t size_max = 1'000'000'000;
constexpr std::int64_t layers_max = 1000;
constexpr auto config_fix =
    "export the model from Python as a .pt2 file (troupe's docs/exporting.md), or correct the file";

}  // namespace

expected<std::optional<json_part>> config_reader::find(std::string_view key) const {
  json_part within = root_;
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    const auto found = TROUPE_TRY(within.find(key.substr(0, dot)));
    if (!found) return std::nullopt;
    within = *found;
    key.remove_prefix(dot + 1);
  }
  return within.find(key);
}

template <class Value, class Read>
Value config_reader::read(std::string_view key, const std::optional<Value>& otherwise, const Read& convert) {
  const auto read_it = [&]() -> expected<Value> {
    const auto found = TROUPE_TRY(find(key));
    if (!found && otherwise) return *otherwise;
    return convert(found ? *found : TROUPE_TRY(root_.at(key)));
  };
  auto value = read_it();
  if (value) return *value;
  if (!first_) first_ = value.error();
  return otherwise.value_or(Value());
}

std::int64_t config_reader::bounded(std::string_view key, std::int64_t value) {
  if (value >= 0 && value <= size_max) return value;
  refuse(key, std::to_string(value) + " is not from 0 to " + std::to_string(size_max));
  return 1;
}

std::int64_t config_reader::above_zero(std::string_view key, std::int64_t value) {
  if (value == 0 && !first_) refuse(key, "0 is no size");
  return std::max<std::int64_t>(value, 1);  // sizes are divided by, also before finish()
}

std::int64_t config_reader::size(std::string_view key, std::optional<std::int64_t> otherwise) {
  return above_zero(key, count(key, otherwise));
}

std::int64_t config_reader::count(std::string_view key, std::optional<std::int64_t> otherwise) {
  return bounded(key, read<std::int64_t>(key, otherwise, [](const json_part& part) { return part.integer(); }));
}

std::int64_t config_reader::side(std::string_view key, std::int64_t otherwise) {
  const auto side_of = [&](const json_part& part) -> expected<std::int64_t> {
    if (!part.is_array()) return part.integer();
    std::vector<std::int64_t> sides;
    for (const json_part& each : TROUPE_TRY(part.items())) sides.push_back(TROUPE_TRY(each.integer()));
    if (sides.size() == 2 && sides[0] == sides[1]) return sides[0];
    return fail(error_code::architecture_unknown, root_.where(), std::string(key) + ": it is no square", config_fix);
  };
  return above_zero(key, bounded(key, read<std::int64_t>(key, otherwise, side_of)));
}

double config_reader::number(std::string_view key, std::optional<double> otherwise) {
  return read<double>(key, otherwise, [](const json_part& part) { return part.real(); });
}

bool config_reader::flag(std::string_view key, std::optional<bool> otherwise) {
  return read<bool>(key, otherwise, [](const json_part& part) { return part.truth(); });
}

std::string config_reader::choice(std::string_view key, const std::vector<std::string>& choices,
                                  const std::optional<std::string>& otherwise) {
  std::string value = read<std::string>(key, otherwise, [](const json_part& part) { return part.text(); });
  if (std::ranges::find(choices, value) == choices.end()) {
    std::string all;
    for (const std::string& each : choices) all += (all.empty() ? "" : ", ") + each;
    refuse(key, "\"" + value + "\" is none of " + all);
  }
  return value;
}

bool config_reader::has(std::string_view key) const {
  const auto found = find(key);
  return found && *found;
}

std::vector<std::string> config_reader::texts(std::string_view key) {
  return read<std::vector<std::string>>(key, std::vector<std::string>(), texts_of);
}

std::int64_t config_reader::product(std::string_view key, std::int64_t one, std::int64_t other) {
  if (one <= size_max / std::max<std::int64_t>(other, 1)) return one * other;
  refuse(key, std::to_string(one) + " times " + std::to_string(other) + " is more than " + std::to_string(size_max));
  return 1;
}

std::int64_t config_reader::layers(std::string_view key, std::int64_t otherwise) {
  const std::int64_t value = count(key, otherwise);
  if (value <= layers_max) return value;
  refuse(key, std::to_string(value) + " is more than " + std::to_string(layers_max));
  return 1;
}

void config_reader::refuse_other(std::string_view key, bool only) {
  if (flag(key, only) != only) refuse(key, std::string("only ") + (only ? "true" : "false") + " is supported");
}

void config_reader::refuse_any(std::string_view key) {
  const auto found = find(key);
  if (found && *found && !(*found)->is_empty()) refuse(key, "it is not supported");
}

void config_reader::refuse_members_but(std::string_view key, const std::vector<std::string>& known) {
  using named_parts = std::vector<std::pair<std::string, json_part>>;
  if (!has(key)) return;
  const auto members = read<named_parts>(key, named_parts(), [](const json_part& part) { return part.members(); });
  for (const auto& [name, value] : members) {
    if (std::ranges::find(known, name) == known.end()) refuse(std::string(key) + "." + name, "it is not supported");
  }
}

void config_reader::refuse(std::string_view key, const std::string& why) {
  if (first_) return;
  first_ = fail(error_code::architecture_unknown, root_.where(), std::string(key) + ": " + why, config_fix).value();
}

expected<void> config_reader::finish() const {
  if (first_) return tl::make_unexpected(*first_);
  return {};
}

}  // namespace troupe
