#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/report/progress.hpp"
#include "testing/simulation/world.hpp"

namespace troupe::cli {
namespace {

constexpr const char* no_faults = "none";

struct simulate_flags {
  std::string seeds;
  std::string faults;
  bool standard = false;
  bool large = false;
  bool train = false;
  bool json = false;
};

struct seed_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

bool read_number(std::string_view text, std::uint64_t& into) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), into);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

expected<seed_range> read_seeds(const std::string& text) {
  seed_range made;
  const std::size_t dots = text.find("..");
  const bool is_range = dots != std::string::npos && read_number(std::string_view(text).substr(0, dots), made.first) &&
                        read_number(std::string_view(text).substr(dots + 2), made.last);
  if (!is_range) {
    return fail(error_code::value_out_of_range, "--seeds", "\"" + text + "\" is not of the form A..B",
                "give --seeds 0..999");
  }
  if (made.last < made.first) {
    return fail(error_code::value_out_of_range, "--seeds", text + " ends before it begins",
                "put the smaller seed first");
  }
  if (made.last - made.first >= limits::simulated_seeds_max) {
    return fail(error_code::value_out_of_range, "--seeds",
                text + " are more than " + std::to_string(limits::simulated_seeds_max) + " seeds",
                "give several ranges, one after another");
  }
  return made;
}

/// "0,2": of the plan's faults these stay; "none" of them. Gives their numbers.
expected<std::vector<std::uint64_t>> keep_faults(simulation::plan& of, const std::string& text) {
  std::vector<simulation::fault> kept;
  std::vector<std::uint64_t> numbers;
  for (std::string_view rest = text == no_faults ? std::string_view() : text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::uint64_t number = 0;
    if (!read_number(rest.substr(0, comma), number) || number >= of.faults.size()) {
      return fail(error_code::value_out_of_range, "--faults",
                  "\"" + std::string(rest.substr(0, comma)) + "\" is no number of a fault of this plan",
                  "give numbers below " + std::to_string(of.faults.size()) + ", as in --faults 0,2");
    }
    kept.push_back(of.faults[number]);
    numbers.push_back(number);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  of.faults = std::move(kept);
  return numbers;
}

/// Seeds that are done, on stderr.
class seed_progress {
 public:
  explicit seed_progress(std::uint64_t seeds) : total_(seeds) {}

  void show(std::uint64_t done) {
    const double elapsed = std::chrono::duration<double>(clock::now() - begin_).count();
    const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
    write(printer_.update({done, total_, elapsed, rate, 0, "seeds"}));
  }
  /// A bar is in the way: its line is cleared, and drawn again with the next seed.
  void say_over(const std::string& text) const { say((terminal_ ? "\r\x1b[K" : "") + text); }
  void finish() { write(printer_.finish()); }

 private:
  using clock = std::chrono::steady_clock;

  static void write(const std::string& due) {
    if (!due.empty()) say(due);
  }

  const std::uint64_t total_;
  const bool terminal_ = stderr_is_terminal();
  progress_printer printer_{{.terminal = terminal_, .width = output_width()}};
  const clock::time_point begin_ = clock::now();
};

class simulating {
 public:
  /// Ends after the seed that runs when `stop` becomes true.
  simulating(const simulate_flags& flags, const parser& given, const seed_range& seeds, const std::atomic<bool>& stop)
      : flags_(flags),
        picks_faults_(given.is_given("--faults")),
        seeds_(seeds),
        stop_(stop),
        progress_(seeds.last - seeds.first + 1) {}

  expected<exit_status> run() {
    const std::clock_t started = std::clock();
    for (std::uint64_t seed = seeds_.first;; ++seed) {
      TROUPE_TRY(run(seed));
      progress_.show(runs_);
      if (seed == seeds_.last) break;
      if ((partial_ = stop_.load())) break;
    }
    progress_.finish();
    const double core_seconds = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    if (auto printed = print(conclusion(std::max(core_seconds, 1e-6))); !printed) {
      return tl::make_unexpected(printed.error());
    }
    if (partial_) return fail(error_code::interrupted, "simulate", "it was interrupted before all seeds were run");
    return failed_ == 0 ? exit_status::ok : exit_status::failure;
  }

 private:
  [[nodiscard]] simulation::plan draw(std::uint64_t seed) const {
    if (flags_.standard) return simulation::draw_standard_plan(seed);
    if (flags_.train) return simulation::draw_training_plan(seed);
    return flags_.large ? simulation::draw_large_plan(seed) : simulation::draw_plan(seed);
  }

  expected<void> run(std::uint64_t seed) {
    simulation::plan what = draw(seed);
    std::vector<std::uint64_t> numbers(what.faults.size());
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    if (picks_faults_) {
      numbers = TROUPE_TRY(keep_faults(what, flags_.faults));
    }
    const simulation::run_report report = world_.run(what);
    ++runs_;
    steps_ += report.steps;
    simulated_seconds_ += report.seconds;
    if (flags_.json) {
      rows_ += fmt::format("{}\n  {{\"seed\": {}, \"trace_hash\": \"{:016x}\", \"outcome\": {}, \"steps\": {}}}",
                           rows_.empty() ? "" : ",", seed, report.trace_hash,
                           nlohmann::json(report.wrong.empty() ? report.ended : report.wrong).dump(), report.steps);
    }
    if (report.wrong.empty()) return {};
    ++failed_;
    progress_.say_over(failure_text(what, numbers, report));
    return {};
  }

  /// The expanded plan, and its smallest part that still fails. `numbers`: of its faults in the plan of the seed.
  std::string failure_text(const simulation::plan& what, const std::vector<std::uint64_t>& numbers,
                           const simulation::run_report& report) {
    std::string least;
    for (const std::size_t each : simulation::shrink(world_, what))
      least += fmt::format("{}{}", least.empty() ? "" : ",", numbers[each]);
    if (least.empty()) least = no_faults;
    return fmt::format("seed {} fails: {}\n{}  the least that fails: troupe simulate --seeds {}..{} --faults {}{}\n",
                       what.seed, report.wrong, describe(what), what.seed, what.seed, least,
                       flags_.standard ? " --standard"
                       : flags_.large  ? " --large"
                       : flags_.train  ? " --train"
                                       : "");
  }

  /// It takes one core.
  [[nodiscard]] std::string conclusion(double core_seconds) const {
    const double seeds_per_second = static_cast<double>(runs_) / core_seconds;
    const double time_ratio = simulated_seconds_ / core_seconds;
    if (flags_.json) {
      return fmt::format(
          "{{\"runs\": [{}\n], \"failed\": {}, \"seeds_per_second\": {:.2f}, \"simulated_seconds_per_second\": "
          "{:.2f}{}}}\n",
          rows_, failed_, seeds_per_second, time_ratio, partial_ ? ", \"partial\": true" : "");
    }
    return fmt::format(
        "{}{} runs, {} failed, {} steps in {:.2f} s of a core: {:.2f} seeds per second, {:.2f} simulated seconds per "
        "second\n",
        partial_ ? "partial: " : "", runs_, failed_, steps_, core_seconds, seeds_per_second, time_ratio);
  }

  const simulate_flags& flags_;
  const bool picks_faults_;
  const seed_range seeds_;
  const std::atomic<bool>& stop_;
  seed_progress progress_;
  simulation::simulator world_;
  bool partial_ = false;
  std::uint64_t runs_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t steps_ = 0;
  double simulated_seconds_ = 0;
  std::string rows_;
};

expected<exit_status> simulate(const simulate_flags& flags, const parser& given, const seed_range& seeds) {
  std::atomic<bool> stop{false};
  const auto interrupt = TROUPE_TRY(interrupt_watch::start([&](int times) {
    stop = true;
    if (times == 1) return say_if_read("\ninterrupted: finishing this seed; interrupt again to end at once\n");
    say_if_read("\ninterrupted: ending without a result\n");
    std::_Exit(static_cast<int>(exit_status::interrupted));
  }));
  return simulating(flags, given, seeds, stop).run();
}

}  // namespace

expected<exit_status> run_simulate(const arguments& given) {
  simulate_flags flags;
  parser reader("simulate", "Run the control plane in one thread and virtual time, under faults that seeds draw.",
                "  troupe simulate --seeds 0..9999\n"
                "  troupe simulate --seeds 17..17 --faults 0,2 --json\n"
                "  troupe simulate --seeds 0..9999 --train\n");
  reader.add_text("--seeds", flags.seeds, "First and last seed", "A..B", parser::presence::required);
  reader.add_text("--faults", flags.faults, "Of each plan these faults alone, by number; or none", "N,N");
  reader.add_toggle("--standard", flags.standard, "Always 3 stages, 2 replicas and 20 micro-batches");
  reader.add_toggle("--large", flags.large, "Always 50 stages, 20 replicas and 40 micro-batches");
  reader.add_toggle("--train", flags.train, "Steps of training and evaluations between them, of chains");
  reader.add_toggle("--json", flags.json, "Print one JSON object: runs[] = seed, trace_hash, outcome, steps");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  if (flags.standard + flags.large + flags.train > 1) {
    return fail(error_code::value_out_of_range, "--seeds", "--standard, --large and --train exclude each other",
                "give one of them");
  }
  return read_seeds(flags.seeds).and_then([&](const seed_range& seeds) { return simulate(flags, reader, seeds); });
}

}  // namespace troupe::cli
