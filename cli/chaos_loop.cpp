#include "chaos_loop.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "chaos_report.hpp"
#include "count_flag.hpp"
#include "interrupt.hpp"
#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "runtime/fault/fault_draw.hpp"
#include "runtime/launcher/shell_words.hpp"

namespace troupe::cli {
namespace {

/// Seeds that JSON readers and people can hold.
constexpr double seed_max = 9007199254740991.0;

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
      shape.stages.push_back({.name = name, .replicas = 0, .in_process = asked.in_workers});
    }
    ++shape.stages.back().replicas;
    if (asked.in_workers) ++shape.workers;
  }
  if (asked.nodes != nullptr) shape.places = places_of(*asked.nodes, shape.workers);
  if (shape.workers > 0) shape.workers += limits::worker_spares;
  shape.micro_batches = result.value("micro_batches", std::uint64_t{0});
  shape.trains = asked.trains;
  if (!asked.trains) return shape;
  shape.steps = result.value("steps", std::uint64_t{0});
  shape.micro_batches = result.value("config", nlohmann::json::object()).value("num_micro_batches", std::uint64_t{1});
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
  if (kind == 0 && asked.trains) {
    const auto moment = own.below(2) == 0 ? fault_trigger_kind::vote : fault_trigger_kind::decision;
    const std::uint64_t step = own.below(std::max<std::uint64_t>(shape.steps, 1));
    return made.add({fault_kind::kill, fault_target::driver(), fault_trigger::in_step(moment, step)});
  }
  if (kind == 0) return made.add({fault_kind::kill, fault_target::driver(), when});
  fault full{fault_kind::disk_full, fault_target::journal(), when};
  full.bytes = own.below(bytes_below);
  return made.add(full);
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
    if (!asked_.faults.empty()) return one(asked_.faults, std::nullopt);
    const auto until = std::chrono::steady_clock::now() + asked_.time.value_or(std::chrono::milliseconds{0});
    expected<exit_status> status = exit_status::ok;
    for (std::uint64_t seed = asked_.seed;; ++seed) {
      status = one(draw(seed, asked_, shape_of_run(asked_, undisturbed_.result)), seed);
      if (!status || *status != exit_status::ok || std::chrono::steady_clock::now() >= until) return status;
    }
  }

 private:
  expected<exit_status> tell_of_first(const chaos_run& before) const {
    say(fmt::format("the undisturbed {} {}\n", asked_.work.noun, printable_lines(before.how)));
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
    TROUPE_TRY(print(asked_.json ? verdict_json(verdict) : verdict_text(verdict)));
    if (!objection) return exit_status::ok;
    const exit_report& end = verdict.disturbed.end.report;
    const bool has_status = end.kind == exit_kind::exited && end.value != 0;
    return has_status ? static_cast<exit_status>(end.value) : exit_status::failure;
  }

  const chaos_request& asked_;
  chaos_rounds& rounds_;
  chaos_run undisturbed_;
};

}  // namespace

expected<void> read_numbers(const chaos_flags& given, const std::string& seed_name, chaos_request& into) {
  const bool is_drawn = !given.seed.empty() || !given.minutes.empty();
  if (!into.faults.empty() && is_drawn) {
    return fail(error_code::flags_contradict, into.faults.where(0), "a plan is given, and one is to be drawn",
                "leave out its faults, or --" + seed_name + " and --minutes");
  }
  into.seed = std::random_device{}();
  if (!given.seed.empty()) {
    into.seed = TROUPE_TRY(read_number(seed_name, given.seed, seed_max));
  }
  if (given.minutes.empty()) return {};
  into.time = TROUPE_TRY(read_minutes("minutes", given.minutes));
  return {};
}

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
  chaos_rounds rounds(*children, *folder, asked.work);
  const auto set_running = [&](child_runner* one) {
    const std::lock_guard lock(mutex);
    running = one;
  };
  set_running(children.get());
  auto status = chaos(asked, rounds).run();
  set_running(nullptr);
  return status;
}

}  // namespace troupe::cli
