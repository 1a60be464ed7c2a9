#include "chaos_round.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "runtime/report/first_difference.hpp"

namespace troupe::cli {
namespace {

using seconds = std::chrono::duration<double>;

arguments with_faults(const fault_plan& plan, bool and_those_that_end_the_run) {
  arguments words;
  for (const fault& each : plan.faults()) {
    if (ends_the_run(each) && !and_those_that_end_the_run) continue;
    words.insert(words.end(), {"--fault", to_string(each)});
  }
  return words;
}

bool has_ended_well(const child_end& end) {
  return !end.overdue && end.report.kind == exit_kind::exited && end.report.value == 0;
}

/// A launch ends with the status that a shell has for the signal.
bool was_killed(const exit_report& end) {
  const int of_shell = 128 + SIGKILL;
  return (end.kind == exit_kind::signalled && end.value == SIGKILL) ||
         (end.kind == exit_kind::exited && end.value == of_shell);
}

bool found_full_disk(const exit_report& end) {
  const std::string code = code_name(error_code::journal_unwritable);
  if (end.told && end.told->code == error_code::journal_unwritable) return true;
  return end.kind == exit_kind::exited && end.value == static_cast<int>(exit_status::failure) &&
         std::ranges::any_of(end.last_lines,
                             [&](const std::string& line) { return line.find(code) != std::string::npos; });
}

/// The faults of the plan that end a run as this one has ended. With none, the plan has found something.
std::vector<fault> that_end_so(const fault_plan& plan, const exit_report& end) {
  std::vector<fault> found;
  std::ranges::copy_if(plan.faults(), std::back_inserter(found), [&](const fault& each) {
    return ends_the_run(each) && (each.who.kind == fault_target_kind::driver ? was_killed(end) : found_full_disk(end));
  });
  return found;
}

/// As a run logs it.
std::string was_injected(const fault& one) {
  return "fault " + to_string(one) + " was injected ";
}

}  // namespace

bool ends_the_run(const fault& one) {
  return one.who.kind == fault_target_kind::driver || one.who.kind == fault_target_kind::journal;
}

bool chaos_run::was_injected_before(const fault& one) const {
  const std::string words = was_injected(one);
  return std::ranges::any_of(injected_before,
                             [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

expected<chaos_run> chaos_rounds::undisturbed() {
  auto done = do_work("the undisturbed " + work_.noun, {}, limits::chaos_undisturbed_time, false);
  if (done) undisturbed_seconds_ = done->end.seconds;
  return done;
}

expected<chaos_run> chaos_rounds::under(const fault_plan& plan) {
  const seconds patience = limits::chaos_time_factor * seconds(undisturbed_seconds_) + limits::chaos_time_extra;
  const bool may_end = std::ranges::any_of(plan.faults(), ends_the_run);
  injected_.clear();
  arguments words = with_faults(plan, true);
  const std::string kept = (folder_.path() / fmt::format("kept-{}", runs_)).string();
  if (may_end) words.insert(words.end(), {work_.kept_in, kept});
  auto done = do_work("the disturbed " + work_.noun, words, patience, true);
  if (!done || done->end.overdue) return done;
  const std::vector<fault> endings = that_end_so(plan, done->end.report);
  if (endings.empty()) return done;
  say(fmt::format("{}; it goes on with its journal\n", done->end.report.outcome()));
  words = with_faults(plan, false);
  words.insert(words.end(), {work_.kept_in, kept, "--resume"});
  std::vector<std::string> before = std::exchange(injected_, {});
  // SIGKILL may take the driver before it has logged the fault, and the end says it
  if (endings.size() == 1) before.push_back(was_injected(endings.front()));
  done = do_work("the resumed " + work_.noun, words, patience, true);
  if (!done) return done;
  done->resumed = true;
  done->injected_before = std::move(before);
  return done;
}

expected<chaos_run> chaos_rounds::do_work(const std::string& name, const arguments& more, seconds patience,
                                          bool shows_log) {
  const std::filesystem::path output = folder_.path() / fmt::format("run-{}", runs_++);
  arguments words = work_.words;
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), {"--output", output.string()});
  // the folder and what it wrote there go with this command
  const auto line = [this](std::string_view text) { hear(text); };
  const auto ended =
      TROUPE_TRY(children_.run(name, words, std::chrono::duration_cast<std::chrono::steady_clock::duration>(patience),
                               shows_log ? line : child_runner::on_line()));
  chaos_run made{.result = nullptr, .end = ended, .how = ended.report.describe()};
  if (ended.overdue) made.how = fmt::format("{} did not end within {:.0f} s", name, patience.count());
  if (const auto text = read_small_file(output / "result.json", limits::chaos_result_bytes_max)) {
    made.result = nlohmann::json::parse(*text, nullptr, false);
    if (made.result.is_discarded()) made.result = nullptr;
  }
  return made;
}

/// The folder, and what a child wrote there, go with this command.
void chaos_rounds::hear(std::string_view line) {
  if (line.starts_with("wrote " + folder_.path().string())) return;
  // a child tells each fault once; what else a model prints is bounded
  const bool tells = line.starts_with("warning: fault ") && line.find(" was injected ") != std::string_view::npos;
  if (tells && injected_.size() < limits::faults_max) injected_.emplace_back(line);
  say(fmt::format("  | {}\n", printable_lines(line)));
}

std::optional<std::string> objection_to(const chaos_run& disturbed, const chaos_run& undisturbed) {
  if (!has_ended_well(disturbed.end)) return disturbed.how;
  if (!disturbed.result.is_object()) return "it left no result.json";
  return first_difference(undisturbed.result, disturbed.result);
}

}  // namespace troupe::cli
