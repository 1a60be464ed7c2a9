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

/// An entry with the members that a fault has in result.json, for a fault of which no result tells. They are null.
json fault_with_note(const fault& one, const char* note) {
  json all = {{"fault", to_string(one)}, {"note", note}};
  for (const char* unknown :
       {"times", "seconds", "micro_batch", "recovery_seconds", "replayed", "duplicates_dropped"}) {
    all[unknown] = nullptr;
  }
  return all;
}

/// One entry for each fault, in the order of the plan. The result has entries for all faults, with two exceptions: an
/// evaluation that ended with an error has no result, and a resumed one runs without the faults that end the program
/// (ends_the_run).
json faults_of(const chaos_verdict& verdict) {
  const json& result = verdict.disturbed.result;
  json all = json::array();
  if (!result.is_object()) {
    for (const fault& one : verdict.plan.faults()) {
      all.push_back(fault_with_note(one, "the run ended with an error, and its log has what was injected"));
    }
    return all;
  }
  json known = result.value("faults", json::array());
  if (!verdict.disturbed.resumed) return known;
  std::size_t next = 0;
  for (const fault& one : verdict.plan.faults()) {
    const bool was_injected = verdict.disturbed.was_injected_before(one);
    if (ends_the_run(one)) {
      all.push_back(
          fault_with_note(one, was_injected ? "injected; left out of the resumed run" : "left out of the resumed run"));
    } else if (next < known.size()) {
      json& entry = known[next++];
      if (was_injected && entry.value("times", std::uint64_t{0}) == 0)
        entry["note"] = "injected before the run was resumed; its log has the cost";
      all.push_back(std::move(entry));
    }
  }
  return all;
}

/// The warnings of the undisturbed evaluation, if the verdict is a failure: they may name its cause, such as a model
/// that gives other outputs for equal inputs. The disturbed evaluation has the same model.
std::vector<std::string> reasons_of(const chaos_verdict& verdict) {
  if (!verdict.objection) return {};
  const json& undisturbed = verdict.undisturbed.result;
  if (!undisturbed.is_object()) return {};
  return undisturbed.value("warnings", std::vector<std::string>());
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
  if (result.contains("delivery")) {
    text += fmt::format("delivery   {} of {} micro-batches folded, {} replayed, {} duplicates dropped, {} lost\n",
                        count_of(result, "folded"), count_of(result, "expected"), count_of(result, "replayed"),
                        count_of(result, "duplicates_dropped"), count_of(result, "lost"));
  }
  if (result.contains("weights_sha256")) {
    text += fmt::format("training   {} steps, weights {}\n", result.value("steps", std::uint64_t{0}),
                        printable(result.value("weights_sha256", std::string())));
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
  const json& undisturbed = verdict.undisturbed.result;
  object["undisturbed"] = {{"metrics", undisturbed.value("metrics", json())},
                           {"wall_seconds", undisturbed.value("wall_seconds", json())}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace troupe::cli
