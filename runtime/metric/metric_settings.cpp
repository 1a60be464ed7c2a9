#include "runtime/metric/metric_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "messages/try.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

std::string shortest(double number) {
  std::array<char, 32> text{};
  const auto [end, failure] = std::to_chars(text.data(), text.data() + text.size(), number == 0 ? 0.0 : number);
  return {text.data(), end};
}

std::optional<std::string> canonical_real(const metric_setting& setting, std::string_view text) {
  const auto number = number_in<double>(text);
  if (!number || !(*number >= setting.minimum && *number <= setting.maximum)) return std::nullopt;
  return shortest(*number);
}

/// Nothing where the text is no value of the option.
std::optional<std::string> canonical(const metric_setting& setting, const std::string& text) {
  switch (setting.form) {
    case setting_form::real:
      return canonical_real(setting, text);
    case setting_form::whole: {
      const auto number = number_in<std::int64_t>(text);
      if (!number || static_cast<double>(*number) < setting.minimum || static_cast<double>(*number) > setting.maximum) {
        return std::nullopt;
      }
      return std::to_string(*number);
    }
    case setting_form::word: {
      const std::vector<std::string> words = split(setting.value_form, '|');
      return std::ranges::find(words, text) == words.end() ? std::nullopt : std::optional(text);
    }
    case setting_form::text:
      return text.empty() ? std::nullopt : std::optional(text);
    case setting_form::numbers: {
      std::string all;
      for (const std::string& part : split(text, '+')) {
        const auto number = canonical_real(setting, part);
        if (!number) return std::nullopt;
        all += (all.empty() ? "" : "+") + *number;
      }
      return all;
    }
  }
  return std::nullopt;
}

std::string expected_form(const metric_setting& setting) {
  const auto range = [&](const char* what) {
    if (setting.maximum == any_number) {
      return std::string(what) + (setting.minimum == 0 ? " that is not negative" : "");
    }
    return std::string(what) + " from " + shortest(setting.minimum) + " to " + shortest(setting.maximum);
  };
  switch (setting.form) {
    case setting_form::real:
      return range("a number");
    case setting_form::whole:
      return range("a whole number");
    case setting_form::word: {
      std::string words;
      for (const std::string& each : split(setting.value_form, '|')) words += (words.empty() ? "" : ", ") + each;
      return "one of " + words;
    }
    case setting_form::text:
      return "a name";
    case setting_form::numbers:
      return range("numbers with + between them, each a number");
  }
  return {};
}

const metric_setting& setting_named(const std::string& name) {
  return *std::ranges::find(metric_settings_known, name, &metric_setting::name);
}

tl::unexpected<error> unknown_setting(const std::string& metric, const std::string& option,
                                      const std::vector<std::string>& allowed) {
  std::string list;
  for (const std::string& each : allowed) list += (list.empty() ? "" : ", ") + each;
  if (allowed.empty()) {
    return fail(error_code::unknown_name, "metric " + metric + ", option " + option, "this metric has no options",
                "write " + metric);
  }
  return fail(error_code::unknown_name, "metric " + metric + ", option " + option,
              "unknown option, expected one of " + list, suggest_fix(option, allowed));
}

}  // namespace

std::string_view base_name(std::string_view name) {
  return name.substr(0, name.find(':'));
}

expected<metric_settings> metric_settings::read(const std::string& name, std::string_view allowed) {
  metric_settings made;
  const std::string metric(base_name(name));
  if (metric.size() == name.size()) return made;
  const std::vector<std::string> known = allowed.empty() ? std::vector<std::string>{} : split(allowed, ' ');
  for (const std::string& part : split(std::string_view(name).substr(metric.size() + 1), ':')) {
    const std::size_t equals = part.find('=');
    const std::string option = part.substr(0, equals);
    if (std::ranges::find(known, option) == known.end()) return unknown_setting(metric, option, known);
    const metric_setting& setting = setting_named(option);
    const std::string where = "metric " + metric + ", option " + option;
    const std::string fix = "write " + metric + ":" + option + "=" + std::string(setting.example);
    if (equals == std::string::npos) {
      return fail(error_code::value_out_of_range, where, "it has no value, expected " + expected_form(setting), fix);
    }
    const std::string text = part.substr(equals + 1);
    auto value = canonical(setting, text);
    if (!value) {
      return fail(error_code::value_out_of_range, where, "\"" + text + "\", expected " + expected_form(setting), fix);
    }
    if (!made.values_.emplace(option, std::move(*value)).second) {
      return fail(error_code::value_out_of_range, where, "it is given twice", "give it once");
    }
  }
  return made;
}

std::string metric_settings::text() const {
  std::string all;
  for (const metric_setting& each : metric_settings_known) {
    const auto found = values_.find(each.name);
    if (found != values_.end()) all.append(":").append(each.name).append("=").append(found->second);
  }
  return all;
}

double metric_settings::real(std::string_view option, double otherwise) const {
  const auto found = values_.find(option);
  return found == values_.end() ? otherwise : number_in<double>(found->second).value_or(otherwise);
}

std::optional<std::int64_t> metric_settings::whole(std::string_view option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::nullopt : number_in<std::int64_t>(found->second);
}

std::string metric_settings::word(std::string_view option, std::string_view otherwise) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::string(otherwise) : found->second;
}

std::vector<double> metric_settings::numbers(std::string_view option) const {
  std::vector<double> all;
  const auto found = values_.find(option);
  if (found == values_.end()) return all;
  for (const std::string& part : split(found->second, '+')) all.push_back(number_in<double>(part).value_or(0));
  return all;
}

}  // namespace troupe
