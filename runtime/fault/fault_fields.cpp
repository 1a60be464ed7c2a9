#include "runtime/fault/fault_fields.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <ratio>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/fault/fault_table.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

using done = tl::expected<void, fault_mistake>;

tl::unexpected<fault_mistake> mistake(std::size_t at, std::string cause, std::string fix = {}) {
  return tl::make_unexpected(fault_mistake{at, std::move(cause), std::move(fix)});
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stopped != end || text.starts_with('-')) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!(value <= limits::deadline_seconds_max)) return std::nullopt;
  }
  return value;
}

template <class Unit>
std::optional<std::chrono::nanoseconds> time_of(std::string_view text) {
  const auto value = number_of<double>(text);
  if (!value) return std::nullopt;
  return std::chrono::round<std::chrono::nanoseconds>(std::chrono::duration<double, Unit>(*value));
}

/// "4s", "250ms", "4".
std::optional<std::chrono::nanoseconds> seconds_of(std::string_view text) {
  if (text.ends_with("ms")) return time_of<std::milli>(text.substr(0, text.size() - 2));
  return time_of<std::ratio<1>>(text.ends_with("s") ? text.substr(0, text.size() - 1) : text);
}

std::string name_in(std::string_view text) {
  std::string name(text);
  std::replace(name.begin(), name.end(), '.', ' ');
  return name;
}

/// Builds a fault field by field.
class fault_reader {
 public:
  done take(const fault_field& field) {
    if (!seen_.emplace(field.key, field).second) return mistake(field.key_at, field.key + " is given twice");
    const auto& known = readers();
    const auto found = known.find(field.key);
    if (found != known.end()) return (this->*found->second)(field);
    for (unsigned i = 0; i <= static_cast<unsigned>(fault_target_kind::journal); ++i) {
      if (fault_target_name(static_cast<fault_target_kind>(i)) == field.key) {
        return target(field, static_cast<fault_target_kind>(i));
      }
    }
    return mistake(field.key_at, fmt::format("a fault has no \"{}\"", field.key), suggest_fix(field.key, key_names()));
  }

  tl::expected<fault, fault_mistake> finish() {
    if (target_key_.empty()) {
      return mistake(seen_.at("kind").key_at, "nothing says what it hits", "add for example stage=net.1");
    }
    if (seed_ && made_.when.kind != fault_trigger_kind::probability) {
      return mistake(seen_.at("seed").key_at, "a seed is for p=", "leave it out");
    }
    made_.when.seed = seed_.value_or(0);
    made_.when.step = step_;
    if (auto wrong = objection_to(made_)) return mistake(place_of(wrong->part), wrong->cause, wrong->fix);
    return made_;
  }

 private:
  using reader = done (fault_reader::*)(const fault_field&);

  static const std::map<std::string, reader, std::less<>>& readers() {
    static const std::map<std::string, reader, std::less<>> known = {
        {"kind", &fault_reader::kind},
        {"replica", &fault_reader::replica},
        {"at", &fault_reader::moment},
        {"p", &fault_reader::share},
        {"seed", &fault_reader::seed},
        {"step", &fault_reader::step},
        {"for", &fault_reader::duration},
        {"ms", &fault_reader::milliseconds<&fault::delay>},
        {"jitter", &fault_reader::milliseconds<&fault::jitter>},
        {"bytes", &fault_reader::bytes},
        {"direction", &fault_reader::direction},
    };
    return known;
  }

  static std::vector<std::string> key_names() {
    std::vector<std::string> names;
    for (unsigned i = 0; i <= static_cast<unsigned>(fault_target_kind::journal); ++i) {
      names.emplace_back(fault_target_name(static_cast<fault_target_kind>(i)));
    }
    for (const auto& [name, read] : readers()) names.push_back(name);
    return names;
  }

  static done unlike(const fault_field& field, std::string_view wanted) {
    return mistake(field.value_at, fmt::format("{}: \"{}\", expected {}", field.key, field.value, wanted));
  }

  done kind(const fault_field& field) {
    std::vector<std::string> names;
    for (const fault_row& row : all_fault_rows()) {
      if (row.name == field.value) {
        made_.kind = row.kind;
        return {};
      }
      names.emplace_back(row.name);
    }
    return mistake(field.value_at, fmt::format("there is no kind of fault \"{}\"", field.value),
                   suggest_fix(field.value, names));
  }

  done target(const fault_field& field, fault_target_kind kind) {
    if (!target_key_.empty()) {
      return mistake(field.key_at, fmt::format("{} and {}: a fault hits one thing", target_key_, field.key));
    }
    target_key_ = field.key;
    made_.who.kind = kind;
    switch (kind) {
      case fault_target_kind::loader:
      case fault_target_kind::aggregator:
      case fault_target_kind::driver:
      case fault_target_kind::journal:
        return field.value.empty() ? done{} : mistake(field.value_at, field.key + " has no value");
      case fault_target_kind::worker:
        return rank(field);
      case fault_target_kind::edge:
        return edge(field);
      case fault_target_kind::control:
        return control(field);
      default:
        made_.who.name = kind == fault_target_kind::stage ? name_in(field.value) : field.value;
        return field.value.empty() ? unlike(field, "a name") : done{};
    }
  }

  done rank(const fault_field& field) {
    const auto value = number_of<std::uint32_t>(field.value);
    if (!value) return unlike(field, "a rank, such as 3");
    made_.who.rank = *value;
    return {};
  }

  done edge(const fault_field& field) {
    constexpr std::string_view arrow = "->";
    constexpr std::string_view wanted = "A-B, or A->B where a name has a hyphen";
    const std::string_view text = field.value;
    std::size_t at = text.find(arrow);
    std::size_t width = arrow.size();
    if (at == std::string_view::npos) {
      at = text.find('-');
      width = 1;
      if (at == std::string_view::npos || at != text.rfind('-')) return unlike(field, wanted);
    }
    made_.who.name = name_in(text.substr(0, at));
    made_.who.to = name_in(text.substr(at + width));
    return made_.who.name.empty() || made_.who.to.empty() ? unlike(field, wanted) : done{};
  }

  done control(const fault_field& field) {
    constexpr std::string_view prefix = "driver-";
    if (!field.value.starts_with(prefix) || field.value.size() == prefix.size()) return unlike(field, "driver-STAGE");
    made_.who.name = name_in(std::string_view(field.value).substr(prefix.size()));
    return {};
  }

  done replica(const fault_field& field) {
    const auto value = number_of<std::uint32_t>(field.value);
    if (!value) return unlike(field, "a number, such as 1");
    made_.who.replica = *value;
    return {};
  }

  done trigger(const fault_field& field, fault_trigger when) {
    if (made_.when.kind != fault_trigger_kind::always) return mistake(field.key_at, "at and p exclude each other");
    made_.when = when;
    return {};
  }

  done moment(const fault_field& field) {
    const std::string_view text = field.value;
    constexpr std::string_view wanted =
        "mb17, msg3 or seconds, such as 2.5s; of a training backward17, vote, decision, apply or recovery";
    for (const auto named : {fault_trigger_kind::vote, fault_trigger_kind::decision, fault_trigger_kind::apply,
                             fault_trigger_kind::recovery}) {
      if (text == moment_name(named)) return trigger(field, {.kind = named});
    }
    constexpr std::string_view backward = "backward";
    if (text.starts_with(backward)) {
      const auto number = number_of<std::uint64_t>(text.substr(backward.size()));
      if (!number) return unlike(field, wanted);
      return trigger(field, {.kind = fault_trigger_kind::backward, .number = *number});
    }
    const bool is_micro_batch = text.starts_with("mb");
    if (is_micro_batch || text.starts_with("msg")) {
      const auto number = number_of<std::uint64_t>(text.substr(is_micro_batch ? 2 : 3));
      if (!number) return unlike(field, wanted);
      return trigger(field, is_micro_batch ? fault_trigger::micro_batch(*number) : fault_trigger::message(*number));
    }
    const auto after = seconds_of(text);
    if (!after) return unlike(field, wanted);
    return trigger(field, fault_trigger::time(*after));
  }

  done share(const fault_field& field) {
    const auto value = number_of<double>(field.value);
    if (!value) return unlike(field, "a probability, such as 0.1");
    return trigger(field, fault_trigger::probability_of(*value));
  }

  done seed(const fault_field& field) {
    seed_ = number_of<std::uint64_t>(field.value);
    return seed_ ? done{} : unlike(field, "a whole number");
  }

  done step(const fault_field& field) {
    step_ = number_of<std::uint64_t>(field.value);
    return step_ ? done{} : unlike(field, "the number of a step, such as 3");
  }

  done duration(const fault_field& field) {
    made_.lasts = seconds_of(field.value);
    return made_.lasts ? done{} : unlike(field, "seconds, such as 4s or 250ms");
  }

  template <auto Member>
  done milliseconds(const fault_field& field) {
    made_.*Member = time_of<std::milli>(field.value);
    return made_.*Member ? done{} : unlike(field, "milliseconds, such as 50");
  }

  done bytes(const fault_field& field) {
    made_.bytes = number_of<std::uint64_t>(field.value);
    return made_.bytes ? done{} : unlike(field, "a whole number of bytes");
  }

  done direction(const fault_field& field) {
    for (const auto way : {fault_direction::forward, fault_direction::back}) {
      if (direction_name(way) == field.value) made_.direction = way;
    }
    return made_.direction ? done{} : unlike(field, "forward or back");
  }

  /// Where the part of the fault stands that is wrong: its kind, where it is missing.
  [[nodiscard]] std::size_t place_of(fault_part part) const {
    const auto key = [&]() -> std::string {
      switch (part) {
        case fault_part::kind:
          return "kind";
        case fault_part::target:
          return target_key_;
        case fault_part::replica:
          return "replica";
        case fault_part::trigger:
          return seen_.contains("at") ? "at" : seen_.contains("p") ? "p" : "step";
        case fault_part::lasts:
          return "for";
        case fault_part::delay:
          return "ms";
        case fault_part::jitter:
          return "jitter";
        case fault_part::bytes:
          return "bytes";
        case fault_part::direction:
          return "direction";
      }
      return "kind";
    };
    const auto found = seen_.find(key());
    return found == seen_.end() ? seen_.at("kind").key_at : found->second.key_at;
  }

  fault made_;
  std::string target_key_;
  std::optional<std::uint64_t> seed_;
  std::optional<std::uint64_t> step_;
  std::map<std::string, fault_field> seen_;
};

}  // namespace

tl::expected<fault, fault_mistake> read_fault(std::span<const fault_field> fields) {
  fault_reader reader;
  for (const fault_field& each : fields) {
    TROUPE_TRY(reader.take(each));
  }
  return reader.finish();
}

}  // namespace troupe
