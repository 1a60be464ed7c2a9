#include "chaos_report.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "messages/printable.hpp"

namespace troupe::cli {
namespace {

using nlohmann::json;

std::uint64_t count_of(const json& result, const char* name) {
  return result.is_object() ? result.value("delivery", json::object()).value(name, std::uint64_t{0}) : 0;
}

/// "injected 2 times, recovered in 0.09 s, 208 sent again", as far as the result says.
std::string effect_of(const json& one) {
  const json note = one.value("note", json());
  if (note.is_string()) return note.get<std::string>();
  const auto times = one.value("times", std::uint64_t{0});
  std::string text = times == 0 ? "not injected" : fmt::format("injected {} time{}", times, times == 1 ? "" : "s");
  const json seconds = one.value("recovery_seconds", json());
  if (seconds.is_number()) text += fmt::format(", recovered in {:.2f} s", seconds.get<double>());
  const json replayed = one.value("replayed", json());
  if (replayed.is_number() && replayed != 0) text += fmt::format(", {} sent again", replayed.get<std::uint64_t>());
  return text;
}

/// The members of result.json; what an evaluation without a result would have told is null.
json fault_with_note(const fault& one, const char* note) {
  json all = {{"fault", to_string(one)}, {"note", note}};
  for (const char* unknown :
       {"times", "seconds", "micro_batch", "recovery_seconds", "replayed", "duplicates_dropped"}) {
    all[unknown] = nullptr;
  }
  return all;
}

/// In the order of the plan. What ended the first evaluation is not in the one that was resumed; one that ended with an
/// error has no result.
json faults_of(const chaos_verdict& verdict) {
  const json& result = verdict.disturbed.result;
  json all = json::array();
  if (!result.is_object()) {
    for (const fault& one : verdict.plan.faults()) {
      all.push_back(fault_with_note(one, "the evaluation ended with an error, and its log has what was injected"));
    }
    return all;
  }
  json known = result.value("faults", json::array());
  if (!verdict.disturbed.resumed) return known;
  std::size_t place = 0;
  for (const fault& one : verdict.plan.faults()) {
    const bool was_injected = verdict.disturbed.was_injected_before(one);
    if (ends_the_run(one)) {
      all.push_back(fault_with_note(
          one, was_injected ? "injected; left out of the resumed evaluation" : "left out of the resumed evaluation"));
    } else if (place < known.size()) {
      json& last = known[place++];
      if (was_injected && last.value("times", std::uint64_t{0}) == 0)
        last["note"] = "injected before the evaluation was resumed; its log has the cost";
      all.push_back(std::move(last));
    }
  }
  return all;
}

/// What the results of both evaluations say against themselves.
std::vector<std::string> reasons_of(const chaos_verdict& verdict) {
  if (!verdict.objection) return {};
  const json& before = verdict.undisturbed.result;
  return before.is_object() ? before.value("warnings", std::vector<std::string>()) : std::vector<std::string>();
}

std::string faults_text(const chaos_verdict& verdict) {
  const json known = faults_of(verdict);
  std::string text;
  for (std::size_t i = 0; i < verdict.plan.faults().size(); ++i) {
    text += fmt::format("fault      {}", to_string(verdict.plan.faults()[i]));
    if (i < known.size() && known[i].is_object()) text += "  " + effect_of(known[i]);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string verdict_text(const chaos_verdict& verdict) {
  std::string text = verdict.seed ? fmt::format("seed       {}\n", *verdict.seed) : "";
  text += faults_text(verdict);
  const json& result = verdict.disturbed.result;
  if (result.is_object()) {
    text += fmt::format("delivery   {} of {} micro-batches folded, {} replayed, {} duplicates dropped, {} lost\n",
                        count_of(result, "folded"), count_of(result, "expected"), count_of(result, "replayed"),
                        count_of(result, "duplicates_dropped"), count_of(result, "lost"));
  }
  text += fmt::format("time       {:.2f} s, undisturbed {:.2f} s{}\n", verdict.disturbed.end.seconds,
                      verdict.undisturbed.end.seconds, verdict.disturbed.resumed ? ", resumed" : "");
  text +=
      verdict.objection ? fmt::format("same bits  no: {}\n", printable_lines(*verdict.objection)) : "same bits  yes\n";
  for (const std::string& each : reasons_of(verdict)) text += fmt::format("because    {}\n", printable_lines(each));
  return text + fmt::format("repeat     {}\n", printable(verdict.repeat));
}

std::string verdict_json(const chaos_verdict& verdict) {
  json object = verdict.disturbed.result.is_object() ? verdict.disturbed.result : json::object();
  object["bit_identical"] = !verdict.objection.has_value();
  object["seed"] = verdict.seed ? json(*verdict.seed) : json();
  object["objection"] = verdict.objection ? json(*verdict.objection) : json();
  object["because"] = reasons_of(verdict);
  object["repeat"] = verdict.repeat;
  object["resumed"] = verdict.disturbed.resumed;
  object["plan"] = verdict.plan.texts();
  object["faults"] = faults_of(verdict);
  const json& before = verdict.undisturbed.result;
  object["undisturbed"] = {{"metrics", before.value("metrics", json())},
                           {"wall_seconds", before.value("wall_seconds", json())}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troupe::cli
