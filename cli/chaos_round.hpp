#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "child_run.hpp"
#include "private_folder.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe::cli {

/// The work that is done several times.
struct chaos_work {
  /// "evaluation" or "training".
  std::string noun = "evaluation";
  /// Begin each run: "eval" or "train" and its flags that were given, without those that say where results go, behind a
  /// launch or not.
  arguments words;
  /// The flag for the place with which a run that ended goes on.
  std::string kept_in = "--journal";
};

/// One run in a child process, or two where the second went on where the first ended.
struct chaos_run {
  /// The object of its result.json; null where there is none.
  nlohmann::json result;
  /// The end of the last child.
  child_end end;
  /// "killed by SIGKILL", with the last lines of stderr.
  std::string how;
  /// The first child ended before it was done, and another one resumed.
  bool resumed = false;
  /// What the children but the last one have logged, a line for each fault that was injected.
  std::vector<std::string> injected_before = {};

  /// By a child that ended before the last one.
  [[nodiscard]] bool was_injected_before(const fault& one) const;
};

/// Faults that end the program itself, not a part that the program can replace. The resumed run is without them.
[[nodiscard]] bool ends_the_run(const fault& one);

/// Runs the work undisturbed and under plans, and keeps what it needs for that in a folder of its own. Threads: one.
class chaos_rounds {
 public:
  chaos_rounds(child_runner& children, const private_folder& folder, chaos_work work)
      : children_(children), folder_(folder), work_(std::move(work)) {}

  /// Errors: child_runner::run().
  [[nodiscard]] expected<chaos_run> undisturbed();
  /// A run that takes far longer than the undisturbed one is killed. If the plan ends the driver or fills the disk of
  /// the journal, and the run ends as by that, it is resumed without these faults.
  [[nodiscard]] expected<chaos_run> under(const fault_plan& plan);

 private:
  [[nodiscard]] expected<chaos_run> do_work(const std::string& name, const arguments& more,
                                            std::chrono::duration<double> patience, bool shows_log);
  void hear(std::string_view line);

  child_runner& children_;
  const private_folder& folder_;
  const chaos_work work_;
  /// Lines of the children's log under one plan.
  std::vector<std::string> injected_;
  double undisturbed_seconds_ = 0;
  int runs_ = 0;
};

/// Why a disturbed run does not count as survived; nothing if it gave the same bits.
[[nodiscard]] std::optional<std::string> objection_to(const chaos_run& disturbed, const chaos_run& undisturbed);

}  // namespace troupe::cli
