#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "messages/try.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"
#include "runtime/training/training_loss.hpp"
#include <troupe/training.hpp>

namespace troupe {
namespace {

constexpr std::size_t class_weights_max = std::size_t{1} << 20;

std::string place_of(const std::string& text, const std::string& option) {
  return "loss \"" + text + "\", option " + option;
}

std::vector<std::string> options_of(loss_kind kind) {
  if (kind == loss_kind::cross_entropy) return {"ignore_index", "label_smoothing", "class_weights"};
  if (kind == loss_kind::nll) return {"ignore_index", "class_weights"};
  return {};
}

bool take_weights(std::string_view text, std::vector<double>& into) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() > class_weights_max) return false;
  for (const std::string& part : parts) {
    const auto number = number_in<double>(part);
    if (!number || !std::isfinite(*number) || *number < 0) return false;
    into.push_back(*number);
  }
  return true;
}

/// Whether the value is one of this option.
bool take(const std::string& name, const std::string& text, training_loss_options& into) {
  if (name == "class_weights") return take_weights(text, into.class_weights);
  if (name == "ignore_index") {
    const auto number = number_in<std::int64_t>(text);
    if (number) into.ignore_index = *number;
    return number.has_value();
  }
  const auto number = number_in<double>(text);
  if (!number || !(*number >= 0 && *number <= 1)) return false;
  into.label_smoothing = *number;
  return true;
}

const char* form_of(const std::string& name) {
  if (name == "class_weights") return "numbers from 0 on with commas between them";
  return name == "ignore_index" ? "a whole number" : "a number from 0 to 1";
}

const char* example_of(const std::string& name) {
  if (name == "class_weights") return "class_weights=1,1,2";
  return name == "ignore_index" ? "ignore_index=-1" : "label_smoothing=0.1";
}

}  // namespace

expected<training_loss_options> training_loss_of(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  training_loss_options made;
  made.kind = TROUPE_TRY(loss_kind_of(parts[0]));
  const std::vector<std::string> allowed = options_of(made.kind);
  std::set<std::string> given;
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::size_t equals = parts[part].find('=');
    const std::string name = parts[part].substr(0, equals);
    if (std::ranges::find(allowed, name) == allowed.end()) {
      return fail(error_code::unknown_name, place_of(text, name), parts[0] + " has no such option",
                  allowed.empty() ? "write " + parts[0] + " alone" : suggest_fix(name, allowed));
    }
    if (!given.insert(name).second) {
      return fail(error_code::value_out_of_range, place_of(text, name), "it is given twice", "give it once");
    }
    if (equals == std::string::npos || !take(name, parts[part].substr(equals + 1), made)) {
      return fail(error_code::value_out_of_range, place_of(text, name), std::string("expected ") + form_of(name),
                  std::string("write for example ") + example_of(name));
    }
  }
  return made;
}

}  // namespace troupe
