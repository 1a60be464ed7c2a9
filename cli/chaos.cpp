#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "chaos_nodes.hpp"
#include "chaos_report.hpp"
#include "command.hpp"
#include "count_flag.hpp"
#include "interrupt.hpp"
#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "option_words.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/start/fault_checks.hpp"
#include "runtime/fault/fault_draw.hpp"
#include "runtime/launcher/shell_words.hpp"

namespace troupe::cli {
namespace {

constexpr const char* chaos_examples =
    "  troupe chaos --model data/mnist/lenet.pt --data mnist:data/mnist --stages 2 --processes --seed 1\n"
    "  troupe chaos --config run.toml --processes --fault kill:stage=1,at=mb17 --fault drop:control=driver-1,p=0.1\n"
    "  troupe chaos --config run.toml --processes --minutes 10\n";

/// Seeds that JSON readers and people can hold.
constexpr double seed_max = 9007199254740991.0;

/// What says where the results of an evaluation go: chaos has its own places.
constexpr std::array<std::string_view, 5> refused = {"output", "journal", "resume", "trace", "log_scalars"};

/// What chaos itself obeys.
constexpr std::array<std::string_view, 1> own_flags = {"json"};

struct chaos_flags {
  std::string seed;
  std::string minutes;
};

struct chaos_request {
  eval_options options;
  /// Null on one host.
  const chaos_nodes* nodes = nullptr;
  /// The options for each evaluation.
  arguments flags;
  std::uint64_t seed = 0;
  std::optional<std::chrono::milliseconds> time;
};

expected<void> read_numbers(const chaos_flags& given, chaos_request& into) {
  into.seed = std::random_device{}();
  if (!given.seed.empty()) {
    into.seed = TROUPE_TRY(read_number("seed", given.seed, seed_max));
  }
  if (given.minutes.empty()) return {};
  into.time = TROUPE_TRY(read_minutes("minutes", given.minutes));
  return {};
}

/// A plan is given, or drawn.
expected<void> check_plan(const chaos_flags& given, const eval_options& options) {
  const bool is_drawn = !given.seed.empty() || !given.minutes.empty();
  if (options.run.faults.empty() || !is_drawn) return {};
  return fail(error_code::flags_contradict, options.run.faults.where(0), "a plan is given, and one is to be drawn",
              "leave out its faults, or --seed and --minutes");
}

expected<chaos_request> read_request(const option_flags& flags, const chaos_flags& given, const chaos_nodes* nodes) {
  TROUPE_TRY(refuse_launch("chaos", "put troupe chaos itself behind --, and no script"));
  auto resolved = TROUPE_TRY(flags.resolve());
  if (nodes != nullptr) resolved.options.run.workers.enabled = true;
  TROUPE_TRY(
      refuse_given(resolved, refused, "chaos evaluates several times, and keeps what it needs in a folder of its own"));
  TROUPE_TRY(check_together(resolved));
  TROUPE_TRY(check_plan(given, resolved.options));
  chaos_request made;
  made.options = resolved.options;
  made.nodes = nodes;
  made.flags = words_of(resolved, own_flags);
  TROUPE_TRY(read_numbers(given, made));
  return made;
}

/// Before anything is evaluated.
expected<void> check_fit(const chaos_request& asked) {
  eval_options planned = asked.options;
  if (planned.run.faults.empty()) return {};
  if (std::ranges::any_of(planned.run.faults.faults(), ends_the_run)) planned.run.journal.file = "a file of its own";
  std::vector<fault_shape::place> places;
  if (asked.nodes != nullptr) places = places_of(*asked.nodes, std::size_t{planned.stages} * planned.replicas);
  return check_faults(planned, std::move(places));
}

/// "stage 0", of which the result has "stage 0, replica 1".
std::string name_without_replica(const nlohmann::json& stage) {
  const std::string name = stage.value("name", "");
  return name.substr(0, name.rfind(", replica "));
}

/// A chain of stages, as the undisturbed result has them.
fault_shape shape_of_run(const chaos_request& asked, const nlohmann::json& result) {
  fault_shape shape;
  for (const nlohmann::json& each : result.value("stages", nlohmann::json::array())) {
    const std::string name = name_without_replica(each);
    if (shape.stages.empty() || shape.stages.back().name != name) {
      shape.edges.emplace_back(shape.stages.empty() ? "loader" : shape.stages.back().name, name);
      shape.stages.push_back({.name = name, .replicas = 0, .in_process = asked.options.run.workers.enabled});
    }
    ++shape.stages.back().replicas;
    if (asked.options.run.workers.enabled) ++shape.workers;
  }
  if (asked.nodes != nullptr) shape.places = places_of(*asked.nodes, shape.workers);
  if (shape.workers > 0) shape.workers += limits::worker_spares;
  shape.micro_batches = result.value("micro_batches", std::uint64_t{0});
  return shape;
}

/// One seed in four also ends the run by its driver or its disk, and another evaluation resumes; on one host, where the
/// journal is.
fault_plan draw(std::uint64_t seed, const chaos_request& asked, const fault_shape& shape) {
  constexpr std::uint64_t one_in = 8;
  constexpr std::uint64_t bytes_below = 4096;
  fault_plan made = random_plan(seed, shape);
  seeded_draw own = draw_for(seed, 1);
  const std::uint64_t kind = own.below(one_in);
  if (asked.nodes != nullptr || kind > 1) return made;
  const auto when = fault_trigger::micro_batch(own.below(std::max<std::uint64_t>(shape.micro_batches, 1)));
  if (kind == 0) return made.add({fault_kind::kill, fault_target::driver(), when});
  fault full{fault_kind::disk_full, fault_target::journal(), when};
  full.bytes = own.below(bytes_below);
  return made.add(full);
}

/// What begins an evaluation.
arguments words_of(const chaos_request& asked) {
  arguments words;
  if (asked.nodes != nullptr) {
    words = {"launch"};
    words.insert(words.end(), asked.nodes->launch_flags.begin(), asked.nodes->launch_flags.end());
    words.insert(words.end(), {"--", asked.nodes->program});
  }
  words.emplace_back("eval");
  words.insert(words.end(), asked.flags.begin(), asked.flags.end());
  return words;
}

std::string command_of(const chaos_request& asked, const arguments& more) {
  std::string text = "troupe";
  const auto add = [&](const std::string& word) {
    const bool is_plain =
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%") ==
        std::string::npos;
    text += " " + (is_plain ? word : quote_for_shell(word));
  };
  if (asked.nodes != nullptr) {
    add("launch");
    std::ranges::for_each(asked.nodes->launch_flags, add);
    text += " -- troupe";
  }
  add("chaos");
  std::ranges::for_each(asked.flags, add);
  std::ranges::for_each(more, add);
  return text;
}

class chaos {
 public:
  chaos(const chaos_request& asked, chaos_rounds& rounds) : asked_(asked), rounds_(rounds) {}

  expected<exit_status> run() {
    say("undisturbed\n");
    auto before = TROUPE_TRY(rounds_.undisturbed());
    if (!before.result.is_object() || before.end.report.value != 0) return tell_of_first(before);
    undisturbed_ = std::move(before);
    if (!asked_.options.run.faults.empty()) return one(asked_.options.run.faults, std::nullopt);
    const auto until = std::chrono::steady_clock::now() + asked_.time.value_or(std::chrono::milliseconds{0});
    expected<exit_status> status = exit_status::ok;
    for (std::uint64_t seed = asked_.seed;; ++seed) {
      status = one(draw(seed, asked_, shape_of_run(asked_, undisturbed_.result)), seed);
      if (!status || *status != exit_status::ok || std::chrono::steady_clock::now() >= until) return status;
    }
  }

 private:
  static expected<exit_status> tell_of_first(const chaos_run& before) {
    say(fmt::format("the undisturbed evaluation {}\n", printable_lines(before.how)));
    if (before.end.report.told) say_error(*before.end.report.told);
    const bool has_status = before.end.report.kind == exit_kind::exited && before.end.report.value != 0;
    return has_status ? static_cast<exit_status>(before.end.report.value) : exit_status::failure;
  }

  expected<exit_status> one(const fault_plan& plan, std::optional<std::uint64_t> seed) {
    arguments words;
    for (const std::string& each : plan.texts()) words.insert(words.end(), {"--fault", each});
    say(fmt::format("disturbed{}\n", seed ? fmt::format(", seed {}", *seed) : ""));
    auto after = TROUPE_TRY(rounds_.under(plan));
    const auto objection = objection_to(after, undisturbed_);
    const chaos_verdict verdict{plan, seed, undisturbed_, std::move(after), objection, command_of(asked_, words)};
    TROUPE_TRY(print(asked_.options.json ? verdict_json(verdict) : verdict_text(verdict)));
    if (!objection) return exit_status::ok;
    const exit_report& end = verdict.disturbed.end.report;
    const bool has_status = end.kind == exit_kind::exited && end.value != 0;
    return has_status ? static_cast<exit_status>(end.value) : exit_status::failure;
  }

  const chaos_request& asked_;
  chaos_rounds& rounds_;
  chaos_run undisturbed_;
};

expected<exit_status> compare_runs(const chaos_request& asked) {
  // what must exist before the first thread asks for what exists later
  std::mutex mutex;
  child_runner* running = nullptr;
  const auto interrupt = TROUPE_TRY(interrupt_watch::start([&](int) {
    const std::lock_guard lock(mutex);
    if (running != nullptr) running->interrupt();
  }));
  auto children = TROUPE_TRY(child_runner::create("chaos"));
  const auto folder = TROUPE_TRY(private_folder::make());
  chaos_rounds rounds(*children, *folder, words_of(asked));
  const auto set_running = [&](child_runner* one) {
    const std::lock_guard lock(mutex);
    running = one;
  };
  set_running(children.get());
  auto status = chaos(asked, rounds).run();
  set_running(nullptr);
  return status;
}

expected<exit_status> run(const arguments& given, const chaos_nodes* nodes) {
  parser reader("chaos",
                "Evaluate under faults and without, and compare: status 0 only for the same bits.\n"
                "The faults are those given, or drawn from a seed.",
                chaos_examples);
  const option_flags flags(reader);
  chaos_flags own;
  reader.add_text("--seed", own.seed, "Draw the faults from this number [a random one]", "N");
  reader.add_text("--minutes", own.minutes, "Draw new faults, seed by seed, for so long or until a run fails", "N");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  return read_request(flags, own, nodes).and_then([](const chaos_request& asked) {
    return check_fit(asked).and_then([&] { return compare_runs(asked); });
  });
}

}  // namespace

expected<exit_status> run_chaos(const arguments& given) {
  return run(given, nullptr);
}

expected<exit_status> run_chaos_over(const chaos_nodes& nodes, const arguments& given) {
  return run(given, &nodes);
}

}  // namespace troupe::cli
