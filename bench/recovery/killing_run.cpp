#include "killing_run.hpp"

#include <csignal>
#include <thread>
#include <utility>

#include "../children.hpp"
#include "../same_bits.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/start/sinks.hpp"
#include "program/start/topology_start.hpp"
#include "program/topology/eval_topology.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds patience{60};

double milliseconds(std::chrono::nanoseconds from, std::chrono::nanoseconds to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

/// 4711 of "stage 0 (..., process 4711) was lost ...".
std::optional<pid_t> lost_process(const std::string& line) {
  constexpr std::string_view name = "process ";
  const auto end = line.find(") was lost");
  const auto at = end == std::string::npos ? end : line.rfind(name, end);
  if (at == std::string::npos) return std::nullopt;
  return static_cast<pid_t>(std::strtol(line.c_str() + at + name.size(), nullptr, 10));
}

/// Without a worker process.
expected<std::vector<metric_value>> reference_of(eval_options options) {
  options.run.workers.enabled = false;
  auto made = TROUPE_TRY(evaluator::create(options, {}));
  return made->run().map([](const run_result& result) { return result.metrics; });
}

}  // namespace

expected<std::unique_ptr<killing_run>> killing_run::start(const recovery_case& which, std::uint32_t seed) {
  std::unique_ptr<killing_run> made(new killing_run(which, seed));
  const eval_options options = options_of(which);
  made->reference_ = TROUPE_TRY(reference_of(options));
  auto data = TROUPE_TRY(open_data(options.data));
  const auto run = TROUPE_TRY(checked_run::make(topology_of(options), options.run, process_context::of_this_process()));
  auto sinks = TROUPE_TRY(make_sinks(run, data->classes()));
  made->request_ = {data, options.run.micro_batch, std::nullopt, std::move(sinks)};
  const auto sample = TROUPE_TRY(data->read({0, options.run.micro_batch}));
  announce(which);
  made->stages_ = TROUPE_TRY(start_topology(run, {.classes = data->classes()}, sample));
  return made;
}

expected<kill_times> killing_run::kill(std::uint32_t stage) {
  for (;;) {
    TROUPE_TRY(await_spare());
    timed_call call(TROUPE_TRY(evaluation::make(request_)), *stages_.running);
    auto times = kill_within(call, stage);
    if (!times) return times;
    if (auto ended = pump_until([&] { return call.ended(); }, "the end of the evaluation"); !ended) {
      return tl::make_unexpected(ended.error());
    }
    const auto result = TROUPE_TRY(call.result());
    if (!same_bits(result.metrics, reference_)) {
      return fail(error_code::internal, which_.model, "other metrics than in one process", "report this");
    }
    times->replayed = result.delivery.replayed;
    times->gap = milliseconds(0ns, call.folds().longest_gap());
    if (times->resumed > 0) return times;  // else it was over before the replacement got anything to do
  }
}

// --- the spare -------------------------------------------------------------------------------------------------------

std::optional<pid_t> killing_run::spare() const {
  auto all = workers();
  if (all.size() != which_.stages + 1) return std::nullopt;
  for (const auto& [stage, step] : made_) all.erase(step.pid);
  return all.size() == 1 ? std::optional(*all.begin()) : std::nullopt;
}

expected<void> killing_run::await_spare() {
  TROUPE_TRY(pump_until([&] { return warmed_.size() == which_.stages; }, "workers"));
  return pump_until(
      [&] {
        const auto pid = spare();
        return pid && are_at_rest({*pid}) && spare() == pid;
      },
      "a spare");
}

// --- a kill ----------------------------------------------------------------------------------------------------------

expected<kill_times> killing_run::kill_within(timed_call& call, std::uint32_t stage) {
  const pid_t pid = made_.at(stage).pid;
  const auto last_spare = spare();
  if (auto begun = pump_until([&] { return call.folds().count() > 0; }, "a first fold"); !begun) {
    return tl::make_unexpected(begun.error());
  }
  std::this_thread::sleep_for(std::chrono::microseconds{random_() % 50000});
  if (which_.cold && last_spare) ::kill(*last_spare, SIGKILL);
  const auto killed = steady_now();
  ::kill(pid, SIGKILL);
  kill_times times{.stage = stage};
  TROUPE_TRY(await_resumption(call, times, killed, pid));
  return times;
}

expected<void> killing_run::await_resumption(timed_call& call, kill_times& times, std::chrono::nanoseconds killed,
                                             pid_t pid) {
  const auto replaced = [&](const auto& steps) {
    const auto found = steps.find(times.stage);
    return found != steps.end() && found->second.begin > killed;
  };
  std::optional<std::chrono::nanoseconds> resumed;
  auto done = pump_until(
      [&] {
        if (replaced(ran_)) resumed = call.folds().first_after(ran_.at(times.stage).begin);
        return resumed.has_value() || (call.ended() && replaced(warmed_));
      },
      "the first new result");
  if (!done || !resumed) return done;
  times.noticed = milliseconds(killed, lost_[pid]);
  times.assigned = milliseconds(killed, made_.at(times.stage).begin);
  times.made = milliseconds(killed, made_.at(times.stage).end);
  times.warmed = milliseconds(killed, warmed_.at(times.stage).end);
  times.fed = milliseconds(killed, ran_.at(times.stage).begin);
  times.resumed = milliseconds(killed, *resumed);
  return {};
}

expected<void> killing_run::pump_until(const std::function<bool()>& done, const std::string& what) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > limit) {
      return fail(error_code::internal, which_.model, "waited in vain for " + what + "; the last line: " + last_line_);
    }
    pump(2ms);
  }
  return {};
}

/// Takes what has been reported, after at most so long.
void killing_run::pump(std::chrono::milliseconds at_most) {
  for (log_record& record : stages_.running->reports().take(at_most).log_lines) {
    std::string& line = record.text;
    if (const auto pid = lost_process(line)) lost_.emplace(*pid, steady_now());
    if (auto step = parse_step(line)) {
      auto& steps = step->name == "made" ? made_ : step->name == "warmed" ? warmed_ : ran_;
      steps[step->stage] = std::move(*step);
    }
    last_line_ = std::move(line);
  }
}

}  // namespace troupe::bench
