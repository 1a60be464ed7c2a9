#include "testing/simulation/plan.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/codec/message_kind.hpp"

namespace troupe::simulation {
namespace {

constexpr std::array<const char*, fault_kinds> fault_names = {
    "kill",         "kill-spare",   "kill-starting",    "kill-in-forward",
    "stop",         "unlink",       "lose-edge",        "corrupt",
    "poison",       "crash-loop",   "throw-in-forward", "start-late",
    "fail-start",   "kill-driver",  "kill-machine",     "corrupt-journal",
    "disk-full",    "kill",         "lose-frame",       "throw-once",
    "give-up",      "drop",         "duplicate",        "reorder",
    "drop-one",     "hang-start",   "stop-run",         "delay-frame",
    "double-frame", "reorder-frame"};

constexpr std::array<const char*, mutants> mutant_names = {
    "none",           "deduplication",     "low-water-mark",  "frame-checksums",     "journal-checksums",
    "credit-check",   "poison-counter",    "restart-budget",  "blobs-before-orders", "silence-noticed",
    "journal-synced", "lost-work-noticed", "same-data-again", "messages-said-again", "old-incarnations-fenced",
    "late-replaced"};

bool is_graph(const plan& what) {
  return !what.graph.nodes.empty();
}

/// Of a generator of its own, so that plans keep the rest.
constexpr std::uint64_t link_salt = 0x6c696e6b;
constexpr std::uint64_t hang_salt = 0x68616e67;
constexpr std::uint64_t frame_salt = 0x6672616d;
constexpr std::uint64_t stop_salt = 0x656e64;
constexpr std::uint64_t memory_salt = 0x6d656d;
constexpr std::uint64_t limit_salt = 0x6c696d;
constexpr std::uint64_t tie_salt = 0x74696564;
constexpr std::array<const char*, ways_to_stop> way_names = {"drain", "now", "deadline", "abort"};

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  void draw_shape(plan& made) {
    made.stages = 1 + static_cast<std::uint32_t>(below(5));
    made.replicas = 1 + static_cast<std::uint32_t>(below(3));
    made.pipe_buffers = static_cast<std::uint32_t>(below(4));
    made.slots_from_loader = 1 + static_cast<std::uint32_t>(below(6));
    made.slots_between = 1 + static_cast<std::uint32_t>(below(8));
    made.has_journal = one_in(3);
    made.calls.clear();
    const std::uint64_t calls = made.has_journal ? 1 : 1 + below(3);
    while (made.calls.size() < calls) made.calls.push_back(below(25));
  }

  void draw_graph_shape(plan& made) {
    made.graph = draw_graph(made.seed);
    made.slots_from_loader = 1 + static_cast<std::uint32_t>(below(4));
    made.slots_between = 1 + static_cast<std::uint32_t>(below(6));
    made.has_journal = one_in(3);
    made.calls.clear();
    const std::uint64_t calls = made.has_journal ? 1 : 1 + below(3);
    while (made.calls.size() < calls) made.calls.push_back(below(16));
    for (const std::uint64_t count : made.calls) {
      auto& of_call = made.folded_before.emplace_back();
      if (made.has_journal || !one_in(3)) continue;
      while (of_call.size() < made.graph.sinks.size()) of_call.push_back(below(count + 1));
    }
    if (one_in(2)) made.micro_batch_bytes = (std::uint64_t{512} << 20u) / (1 + below(31));
    for (node_plan& each : made.graph.nodes) {
      if (one_in(4)) each.slowness = 2 + static_cast<std::uint32_t>(below(10));
    }
  }

  void draw_training_shape(plan& made) {
    made.stages = 1 + static_cast<std::uint32_t>(below(4));
    made.replicas = 1u << below(3);
    made.slots_from_loader = 1 + static_cast<std::uint32_t>(below(6));
    made.slots_between = 1 + static_cast<std::uint32_t>(below(8));
    made.calls.clear();
    const std::uint64_t calls = 3 * (1 + below(3));
    while (made.calls.size() < calls) made.calls.push_back(below(13));
    if (one_in(4)) {
      made.faults.push_back(
          {.kind = fault_kind::give_up, .at_us = static_cast<std::int64_t>(below(300'000)), .call = below(calls)});
    }
  }

  void draw_ties(plan& made) {
    if (made.stages == 1 || one_in(2)) return;
    const bool are_all = one_in(3);
    for (std::uint32_t stage = 0; stage < made.stages; ++stage) {
      if (are_all || stage == 0 || stage + 1 == made.stages) made.tied.push_back(stage);
    }
  }

  /// The first vote or decision of a replica, or several of them.
  void draw_lost_decisions(plan& made) {
    if (!one_in(3)) return;
    constexpr std::array kinds = {message_kind::step_vote, message_kind::step_decision};
    for (std::uint64_t left = 1 + below(3); left > 0; --left) {
      fault one{.kind = fault_kind::lose_message, .index = static_cast<std::uint64_t>(kinds[below(kinds.size())])};
      place(one, made);
      made.faults.push_back(one);
    }
  }

  void draw_rest(plan& made) {
    made.is_rereadable = one_in(2);
    made.loses_edges = one_in(2);
    made.forward_us = 20 + static_cast<std::int64_t>(below(2000));
  }

  void draw_faults(plan& made) {
    if (one_in(8)) return;
    for (std::uint64_t left = 1 + below(5); left > 0; --left) made.faults.push_back(draw_fault(made));
    std::ranges::stable_sort(made.faults, {}, &fault::at_us);
  }

  /// All three at once, as often as not.
  void draw_link_faults(plan& made) {
    if (!one_in(4)) return;
    constexpr std::array kinds = {fault_kind::lose_messages, fault_kind::double_messages, fault_kind::reorder_messages};
    constexpr std::array<std::int64_t, 4> times = {50'000, 500'000, 5'000'000, 60'000'000};
    constexpr std::array<std::uint64_t, 5> percents = {10, 10, 10, 50, 100};
    fault one{.at_us = one_in(2) ? 0 : static_cast<std::int64_t>(below(300'000)), .for_us = times[below(times.size())]};
    place(one, made);
    one.index = percents[below(percents.size())];
    const bool all = one_in(2);
    const fault_kind only = kinds[below(kinds.size())];
    for (const fault_kind each : kinds) {
      one.kind = each;
      if (all || each == only) made.faults.push_back(one);
    }
    std::ranges::stable_sort(made.faults, {}, &fault::at_us);
  }

  /// The third worker of a row is the last that a stage gets.
  void draw_hang(plan& made) {
    if (!one_in(10)) return;
    fault one{.kind = fault_kind::hang_start, .at_us = one_in(2) ? 0 : static_cast<std::int64_t>(below(300'000))};
    place(one, made);
    one.index = 1 + below(3);
    made.faults.push_back(one);
    std::ranges::stable_sort(made.faults, {}, &fault::at_us);
  }

  void draw_frame_faults(plan& made) {
    if (!one_in(6)) return;
    constexpr std::array kinds = {fault_kind::delay_frame, fault_kind::double_frame, fault_kind::reorder_frame};
    constexpr std::array<std::int64_t, 3> times = {1'000, 100'000, 20'000'000};
    for (std::uint64_t left = 1 + below(4); left > 0; --left) {
      fault one{.kind = kinds[below(kinds.size())], .at_us = static_cast<std::int64_t>(below(200'000))};
      if (one.kind == fault_kind::delay_frame) one.for_us = times[below(times.size())];
      made.faults.push_back(one);
    }
    std::ranges::stable_sort(made.faults, {}, &fault::at_us);
  }

  void draw_limits(plan& made) {
    if (one_in(2)) return;
    // With shorter ones, starts over a link that loses every second message for a minute rightly count as failed.
    constexpr std::array<std::int64_t, 3> silences_ms = {3'000, 10'000, 30'000};
    constexpr std::array<std::int64_t, 3> starts_ms = {3'000, 10'000, 30'000};
    made.most = {.silence = std::chrono::milliseconds(silences_ms[below(silences_ms.size())]),
                 .start_deadline = std::chrono::milliseconds(starts_ms[below(starts_ms.size())]),
                 .deaths_without_progress = static_cast<std::uint32_t>(2 + below(4)),
                 .deaths_in_window = static_cast<std::uint32_t>(6 + below(30))};
  }

  /// Often twice, as people press Ctrl-C.
  void draw_stop(plan& made) {
    if (!one_in(8)) return;
    for (std::uint64_t left = 1 + below(2); left > 0; --left) {
      made.faults.push_back({.kind = fault_kind::stop_run,
                             .at_us = static_cast<std::int64_t>(below(200'000)),
                             .index = below(ways_to_stop)});
    }
    std::ranges::stable_sort(made.faults, {}, &fault::at_us);
  }

 private:
  void place(fault& one, const plan& of) {
    one.stage = static_cast<std::uint32_t>(below(is_graph(of) ? of.graph.nodes.size() : of.stages));
    one.replica = static_cast<std::uint32_t>(below(is_graph(of) ? of.graph.nodes[one.stage].replicas : of.replicas));
  }
  fault_kind draw_kind(const plan& of) {
    constexpr std::array frequent = {fault_kind::kill,       fault_kind::kill,       fault_kind::kill,
                                     fault_kind::freeze,     fault_kind::kill_spare, fault_kind::kill_in_forward,
                                     fault_kind::unlink,     fault_kind::start_late, fault_kind::kill_starting,
                                     fault_kind::kill_actor, fault_kind::fail_start};
    constexpr std::array of_drivers = {fault_kind::kill_driver, fault_kind::kill_machine, fault_kind::kill_machine,
                                       fault_kind::corrupt_journal, fault_kind::fill_disk};
    constexpr std::array of_graphs = {fault_kind::lose_frame, fault_kind::throw_once, fault_kind::give_up};
    if (is_graph(of) && one_in(6)) return of_graphs[below(of_graphs.size())];
    if (of.has_journal && one_in(3)) return of_drivers[below(of_drivers.size())];
    if (of.loses_edges && one_in(3)) return one_in(2) ? fault_kind::lose_edge : fault_kind::damage_edge;
    if (one_in(12)) return fault_kind::poison;
    if (one_in(24)) return fault_kind::crash_loop;
    if (one_in(24)) return fault_kind::throw_in_forward;
    return frequent[below(frequent.size())];
  }

  fault draw_fault(const plan& of) {
    fault made{.kind = draw_kind(of)};
    made.at_us = static_cast<std::int64_t>(below(300'000));
    place(made, of);
    made.call = below(of.calls.size());
    made.index = of.calls[made.call] == 0 ? 0 : below(of.calls[made.call]);
    if (made.kind == fault_kind::freeze) {
      constexpr std::array<std::int64_t, 4> times = {5'000, 2'000'000, 9'000'000, 60'000'000};
      made.for_us = times[below(times.size())];
    }
    if (made.kind == fault_kind::start_late) made.for_us = one_in(2) ? 7'000'000 : 70'000'000;
    return made;
  }

  std::mt19937_64 random_;
};

void draw_of_processes(plan& made) {
  drawing(made.seed ^ link_salt).draw_link_faults(made);
  drawing(made.seed ^ hang_salt).draw_hang(made);
  drawing(made.seed ^ frame_salt).draw_frame_faults(made);
}

void draw_more(plan& made) {
  draw_of_processes(made);
  drawing(made.seed ^ stop_salt).draw_stop(made);
  made.hands_over_edges = !made.loses_edges && drawing(made.seed ^ memory_salt).one_in(8);
}

const char* edges_text(const plan& what) {
  if (what.loses_edges) return ", edges can be lost";
  return what.hands_over_edges ? ", memory of edges" : "";
}

std::string limits_text(const plan_limits& most) {
  if (most == plan_limits{}) return "";
  return fmt::format(", silence {} ms, start {} ms, deaths {} and {}", most.silence.count(),
                     most.start_deadline.count(), most.deaths_without_progress, most.deaths_in_window);
}

std::string place_of(const fault& what) {
  return fmt::format("stage={}.{}", what.stage, what.replica);
}

}  // namespace

const char* name_of(mutant which) noexcept {
  return mutant_names[static_cast<std::size_t>(which)];
}

plan with_graph(plan what) {
  if (!is_graph(what)) what.graph = make_line(what.stages, what.replicas, what.pipe_buffers);
  return what;
}

void draw_disturbances(plan& made) {
  drawing from(made.seed);
  const std::int64_t forward_us = made.forward_us;
  from.draw_rest(made);
  made.forward_us = forward_us;
  from.draw_faults(made);
  draw_of_processes(made);
}

plan draw_plan(std::uint64_t seed) {
  plan made{.seed = seed};
  drawing from(seed);
  seed % 2 == 0 ? from.draw_shape(made) : from.draw_graph_shape(made);
  from.draw_rest(made);
  from.draw_faults(made);
  draw_more(made);
  return made;
}

plan draw_training_plan(std::uint64_t seed) {
  plan made{.seed = seed, .trains = true};
  drawing from(seed);
  from.draw_training_shape(made);
  from.draw_rest(made);
  from.draw_faults(made);
  from.draw_lost_decisions(made);
  drawing(made.seed ^ limit_salt).draw_limits(made);
  drawing(made.seed ^ tie_salt).draw_ties(made);
  draw_of_processes(made);
  // A gradient that comes behind the next one ends its step with an error, as nothing can make them wait.
  std::vector<std::size_t> of_activations(std::size_t{made.stages} * made.replicas);
  std::iota(of_activations.begin(), of_activations.end(), std::size_t{0});
  for (fault& each : made.faults) {
    if (each.kind == fault_kind::reorder_frame) each.channels = of_activations;
  }
  return made;
}

plan draw_standard_plan(std::uint64_t seed) {
  plan made{.seed = seed, .stages = 3, .replicas = 2, .slots_from_loader = 4, .slots_between = 4, .calls = {20}};
  drawing from(seed);
  from.draw_rest(made);
  from.draw_faults(made);
  return made;
}

plan draw_large_plan(std::uint64_t seed) {
  plan made{.seed = seed, .stages = 50, .replicas = 20, .slots_from_loader = 4, .slots_between = 4, .calls = {40}};
  drawing from(seed);
  from.draw_rest(made);
  from.draw_faults(made);
  return made;
}

std::string describe(const fault& what) {
  std::string text = fault_names[static_cast<std::size_t>(what.kind)];
  const double at_ms = static_cast<double>(what.at_us) / 1000;
  switch (what.kind) {
    case fault_kind::kill:
    case fault_kind::unlink:
      return fmt::format("{}:{},at={}ms", text, place_of(what), at_ms);
    case fault_kind::freeze:
      return fmt::format("{}:{},at={}ms,for={}ms", text, place_of(what), at_ms, what.for_us / 1000);
    case fault_kind::kill_in_forward:
    case fault_kind::poison:
    case fault_kind::throw_in_forward:
    case fault_kind::throw_once:
      return fmt::format("{}:stage={},at=call{}.mb{}", text, what.stage, what.call, what.index);
    case fault_kind::crash_loop:
      return fmt::format("{}:{}", text, place_of(what));
    case fault_kind::give_up:
      return fmt::format("{}:call={},at={}ms", text, what.call, at_ms);
    case fault_kind::lose_messages:
    case fault_kind::double_messages:
    case fault_kind::reorder_messages:
      return fmt::format("{}:control={},at={}ms,for={}ms,p={}", text, place_of(what), at_ms, what.for_us / 1000,
                         static_cast<double>(what.index) / 100);
    case fault_kind::kill_actor:
      return fmt::format("{}:{},at={}ms", text, kills_aggregator(what) ? "aggregator" : "loader", at_ms);
    case fault_kind::lose_message:
      return fmt::format("{}:control={},message={}", text, place_of(what), what.index);
    case fault_kind::stop_run:
      return fmt::format("{}:how={},at={}ms", text, way_names.at(what.index), at_ms);
    case fault_kind::hang_start:
      return fmt::format("{}:{},at={}ms,workers={}", text, place_of(what), at_ms, what.index);
    case fault_kind::delay_frame:
    case fault_kind::start_late:
      return fmt::format("{}:at={}ms,for={}ms", text, at_ms, what.for_us / 1000);
    default:
      return fmt::format("{}:at={}ms", text, at_ms);
  }
}

std::string describe(const plan& what) {
  const std::string size = is_graph(what) ? fmt::format("a graph of {} nodes", what.graph.nodes.size())
                                          : fmt::format("{} stages x {} replicas, pipe buffers {}", what.stages,
                                                        what.replicas, what.pipe_buffers);
  std::string text =
      fmt::format("seed {}: {}, slots {} and {}, forward {} us{}{}{}{}, calls of", what.seed, size,
                  what.slots_from_loader, what.slots_between, what.forward_us, what.is_rereadable ? ", read again" : "",
                  edges_text(what), what.has_journal ? ", journal" : "", what.trains ? ", trains" : "") +
      (what.tied.empty() ? "" : fmt::format(", tied {}", fmt::join(what.tied, ",")));
  for (const std::uint64_t count : what.calls) text += fmt::format(" {}", count);
  text += limits_text(what.most);
  for (std::size_t call = 0; call < what.folded_before.size(); ++call) {
    if (!what.folded_before[call].empty()) {
      text += fmt::format(", call {} from {}", call, fmt::join(what.folded_before[call], " "));
    }
  }
  text += '\n';
  if (is_graph(what)) text += describe(what.graph);
  for (std::size_t at = 0; at < what.faults.size(); ++at) {
    text += fmt::format("  fault {}  {}\n", at, describe(what.faults[at]));
  }
  return text;
}

}  // namespace troupe::simulation
