#include "runtime/report/first_difference.hpp"

#include <array>
#include <span>

#include <nlohmann/json.hpp>

#include <troupe/result.hpp>

namespace troupe {
namespace {

/// Objects and lists go down to the first value that differs. Equal texts are equal bits: a real is written with the
/// digits that give it back, and a zero with its sign.
std::optional<std::string> difference(const std::string& name, const nlohmann::json& a, const nlohmann::json& b) {
  const bool same_form = a.type() == b.type() && a.is_structured() && a.size() == b.size();
  if (!same_form) {
    if (a.dump() == b.dump()) return std::nullopt;
    return name + ": " + a.dump() + " and " + b.dump();
  }
  auto other = b.begin();
  for (auto each = a.begin(); each != a.end(); ++each, ++other) {
    if (a.is_object() && each.key() != other.key()) return name + ": " + each.key() + " and " + other.key();
    const std::string part = a.is_object() ? "." + each.key() : "[" + std::to_string(each - a.begin()) + "]";
    if (auto found = difference(name + part, *each, *other)) return found;
  }
  return std::nullopt;
}

}  // namespace

/// A training that was resumed counts its samples from there on.
std::optional<std::string> first_difference(const nlohmann::json& a, const nlohmann::json& b) {
  static constexpr std::array of_evaluations = {
      "partial", "samples", "micro_batches", "samples_with_nan", "samples_with_infinity", "metrics", "sinks"};
  static constexpr std::array of_trainings = {"partial", "steps", "epochs", "losses", "evaluations", "weights_sha256"};
  const bool is_training = a.contains("weights_sha256");
  for (const char* name : is_training ? std::span<const char* const>(of_trainings) : of_evaluations) {
    if (auto found = difference(name, a.value(name, nlohmann::json()), b.value(name, nlohmann::json()))) return found;
  }
  return std::nullopt;
}

std::optional<std::string> first_difference(const run_result& a, const run_result& b) {
  return first_difference(nlohmann::json::parse(result_json(a).text), nlohmann::json::parse(result_json(b).text));
}

}  // namespace troupe
