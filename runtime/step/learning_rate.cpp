#include "runtime/step/learning_rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>

#include "messages/try.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

enum class value_kind : std::uint8_t { steps, share, first_share, factor, rate, shape };

struct rate_option {
  std::string_view name;
  value_kind kind;
  std::string_view example;
};

constexpr std::array rate_options = {
    rate_option{"total", value_kind::steps, "1000"},
    rate_option{"start", value_kind::first_share, "0.1"},
    rate_option{"end", value_kind::share, "1"},
    rate_option{"every", value_kind::steps, "1000"},
    rate_option{"gamma", value_kind::factor, "0.1"},
    rate_option{"min", value_kind::rate, "1e-5"},
    rate_option{"rise", value_kind::share, "0.3"},
    rate_option{"divide", value_kind::factor, "25"},
    rate_option{"final_divide", value_kind::factor, "1e4"},
    rate_option{"shape", value_kind::shape, "cos"},
    rate_option{"warmup", value_kind::steps, "100"},
    rate_option{"from", value_kind::first_share, "0.01"},
};

struct schedule_form {
  std::string_view name;
  std::string_view options;  ///< separated by spaces; the first one is needed, except warmup
};

/// In the order of learning_rate::kind.
constexpr std::array schedules = {
    schedule_form{"constant", "warmup from"},
    schedule_form{"linear", "total start end warmup from"},
    schedule_form{"step", "every gamma warmup from"},
    schedule_form{"cosine", "total min warmup from"},
    schedule_form{"one_cycle", "total rise divide final_divide shape"},
};

struct value_form {
  std::string_view text;
  double minimum;
  double maximum;
};

value_form form_of(value_kind kind) {
  switch (kind) {
    case value_kind::steps:
      return {"a whole number from 1 to 1000000000000", 1, 1e12};
    case value_kind::share:
      return {"a number from 0 to 1", 0, 1};
    case value_kind::first_share:  // torch's LinearLR divides by its first factor
      return {"a number from 0 to 1, but not 0", std::numeric_limits<double>::denorm_min(), 1};
    case value_kind::factor:
      return {"a positive number up to 1000000000", 1e-300, 1e9};
    case value_kind::rate:
      return {"a number from 0 to 1000000000", 0, 1e9};
    case value_kind::shape:
      break;
  }
  return {"one of cos, linear", 0, 1};
}

std::optional<double> value_in(const rate_option& option, const std::string& text) {
  if (option.kind == value_kind::shape) {
    return text == "cos" ? std::optional(0.0) : text == "linear" ? std::optional(1.0) : std::nullopt;
  }
  const auto number = number_in<double>(text);
  const value_form form = form_of(option.kind);
  if (!number || !(*number >= form.minimum && *number <= form.maximum)) return std::nullopt;
  return option.kind == value_kind::steps && *number != std::floor(*number) ? std::nullopt : number;
}

std::string place_of(const std::string& text, const std::string& option = {}) {
  return "learning rate \"" + text + "\"" + (option.empty() ? "" : ", option " + option);
}

}  // namespace

double& learning_rate::option(std::string_view name) noexcept {
  const std::array<double*, rate_options.size()> values = {
      &total_, &start_, &end_, &every_, &gamma_, &min_, &rise_, &divide_, &final_divide_, &shape_, &warmup_, &from_};
  const auto found = std::ranges::find(rate_options, name, &rate_option::name);
  return *values[static_cast<std::size_t>(found - rate_options.begin())];
}

expected<learning_rate> learning_rate::make(double base, const std::string& text) {
  if (!(base > 0 && base <= 1e9)) {
    return fail(error_code::value_out_of_range, "learning rate", "expected a positive number up to 1000000000",
                "write 0.01");
  }
  const std::vector<std::string> parts = split(text, ':');
  const auto form = std::ranges::find(schedules, parts[0], &schedule_form::name);
  if (form == schedules.end()) {
    std::vector<std::string> names;
    names.reserve(schedules.size());
    for (const schedule_form& each : schedules) names.emplace_back(each.name);
    return fail(error_code::unknown_name, place_of(text), "unknown schedule", suggest_fix(parts[0], names));
  }
  learning_rate made;
  made.kind_ = static_cast<kind>(form - schedules.begin());
  made.base_ = base;
  const std::vector<std::string> allowed = split(form->options, ' ');
  std::set<std::string> given;
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::size_t equals = parts[part].find('=');
    const std::string name = parts[part].substr(0, equals);
    if (std::ranges::find(allowed, name) == allowed.end()) {
      return fail(error_code::unknown_name, place_of(text, name), "unknown option of " + parts[0],
                  suggest_fix(name, allowed));
    }
    const rate_option& known = *std::ranges::find(rate_options, name, &rate_option::name);
    const auto value = value_in(known, equals == std::string::npos ? "" : parts[part].substr(equals + 1));
    if (!value || !given.insert(name).second) {
      return fail(error_code::value_out_of_range, place_of(text, name),
                  value ? "it is given twice" : "expected " + std::string(form_of(known.kind).text),
                  value ? "give it once" : "write " + name + "=" + std::string(known.example));
    }
    made.option(name) = *value;
  }
  if (allowed[0] != "warmup" && !given.contains(allowed[0])) {
    return fail(error_code::value_out_of_range, place_of(text), "it needs " + allowed[0],
                "write " + parts[0] + ":" + allowed[0] + "=1000");
  }
  if (given.contains("from") && !given.contains("warmup")) {
    return fail(error_code::value_out_of_range, place_of(text, "from"), "it needs warmup", "write warmup=100");
  }
  return made;
}

double learning_rate::at(std::uint64_t step) const noexcept {
  const auto number = static_cast<double>(step);
  if (number >= warmup_) return scheduled(number - warmup_);
  const double from = from_ == 0 ? 1 / warmup_ : from_;
  return base_ * (from + (1 - from) * number / warmup_);
}

double learning_rate::scheduled(double step) const noexcept {
  switch (kind_) {
    case kind::constant:
      break;
    case kind::linear:
      return base_ * (start_ + (end_ - start_) * std::min(total_, step) / total_);
    case kind::step:
      return base_ * std::pow(gamma_, std::floor(step / every_));
    case kind::cosine:
      return min_ + (base_ - min_) * (1 + std::cos(std::numbers::pi * step / total_)) / 2;
    case kind::one_cycle:
      return cycle(step);
  }
  return base_;
}

double learning_rate::cycle(double step) const noexcept {
  step = std::min(step, total_ - 1);
  const double top = rise_ * total_ - 1;
  const double initial = base_ / divide_;
  const bool rises = step <= top && top > 0;
  const double length = rises ? top : total_ - 1 - top;
  const double share = length > 0 ? (rises ? step : step - top) / length : 1;
  const double begin = rises ? initial : base_;
  const double end = rises ? base_ : initial / final_divide_;
  if (shape_ == 1) return (end - begin) * share + begin;
  return end + (begin - end) / 2 * (std::cos(std::numbers::pi * share) + 1);
}

}  // namespace troupe
